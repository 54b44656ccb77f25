/** What one piece of an answer says: a whole JSON body, or one event of a stream. */
import { inner, isJson, usageOf, type Json, type Usage } from './usage.js';

export interface Said {
  readonly usage: Usage | null;
  /** Nothing that follows changes the usage any more. */
  readonly isFinal: boolean;
  /** What went wrong inside an answer that had begun well, for `classifyFailure`. */
  readonly error: Json | null;
}

const NOTHING: Said = { usage: null, isFinal: false, error: null };

/** Stands in every text that says anything here: most events of a stream are not worth parsing. */
const WORTH_PARSING = /usage|"error"|"(?:errorM|m)essage"|_error"/i;

/** Reads the data of one event; `name` is that of its `event:` line, empty where there is none. */
export function saidByEvent(name: string, data: string): Said {
  if (name !== 'error' && !WORTH_PARSING.test(data)) return NOTHING;
  const parsed = parseJson(data);
  return parsed === null ? NOTHING : said(parsed, name);
}

/** Reads one message of AWS's event stream: an exception is named in its headers alone. */
export function saidByAws(name: string, data: string): Said {
  return name.endsWith('Exception') ? { ...NOTHING, error: { [name]: parseJson(data) ?? {} } } : saidByEvent(name, data);
}

/** Reads a whole body: what it says is final. */
export function saidByBody(body: string): Said {
  const parsed = parseJson(body);
  return parsed === null ? NOTHING : { ...said(parsed, ''), isFinal: true };
}

function said(json: Json, event: string): Said {
  const error = errorOf(json, event);
  // Responses keeps it in `response`, the start of an Anthropic message in `message`, Groq's streams in `x_groq`.
  for (const holder of [json, inner(json, 'response'), inner(json, 'message'), inner(json, 'x_groq')]) {
    const usage = usageOf(holder.usage) ?? usageOf(holder.usageMetadata);
    if (usage !== null) return { usage, isFinal: isLast(json), error };
  }
  return { ...NOTHING, error };
}

/** The start of an Anthropic message counts an answer that has only begun, and so do Gemini's chunks before the last. */
function isLast(json: Json): boolean {
  if (json.type === 'message_start') return false;
  if (!('usageMetadata' in json)) return true;
  return Array.isArray(json.candidates) && json.candidates.some((each) => isJson(each) && 'finishReason' in each);
}

function errorOf(json: Json, event: string): Json | null {
  const response = inner(json, 'response');
  if (isJson(response.error)) return response.error;
  if (isJson(json.error)) return json.error;
  if (typeof json.error === 'string') return { message: json.error };
  return event === 'error' || json.type === 'error' ? json : null;
}

function parseJson(text: string): Json | null {
  try {
    const parsed: unknown = JSON.parse(text);
    // Gemini streams a list where nobody asked for events.
    const last: unknown = Array.isArray(parsed) ? parsed.at(-1) : parsed;
    return isJson(last) ? last : null;
  } catch {
    return null;
  }
}
