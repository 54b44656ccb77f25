/** As much of Structured Fields (RFC 9651) as the IETF's RateLimit drafts use: items with parameters, by comma. */

export interface Item {
  /** The bare item, without quotes; a dictionary's member has its key here and its value under `''`. */
  readonly name: string;
  readonly parameters: ReadonlyMap<string, string>;
}

/** The items of a field; what cannot be read is left out. */
export function parseItems(field: string): Item[] {
  return split(field, ',')
    .map((member) => {
      const [head = '', ...rest] = split(member, ';');
      const [name = '', value] = split(head, '=');
      const parameters = new Map(rest.map((parameter) => pair(parameter)));
      if (value !== undefined) parameters.set('', unquoted(value));
      return { name: unquoted(name), parameters };
    })
    .filter(({ name }) => name !== '');
}

function pair(parameter: string): [string, string] {
  const [key = '', value = ''] = split(parameter, '=');
  return [key, unquoted(value)];
}

const unquoted = (text: string): string => (text.startsWith('"') ? text.replaceAll(/^"|"$|\\(?=["\\])/g, '') : text);

/** Splits at `separator`, but never inside a quoted string. */
function split(text: string, separator: string): string[] {
  const parts: string[] = [];
  let part = '';
  let quoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charAt(at);
    if (quoted && char === '\\') {
      part += char + text.charAt(at + 1);
      at += 1;
    } else if (char === separator && !quoted) {
      parts.push(part.trim());
      part = '';
    } else {
      if (char === '"') quoted = !quoted;
      part += char;
    }
  }
  parts.push(part.trim());
  return parts;
}
