/** The drawing: text and shapes of our own, marbles and the operator's box by Swirly. */
import { parseMarbleDiagramSpecification as parse } from '@swirly/parser';
import { renderMarbleDiagram } from '@swirly/renderer-node';

/** Sizes in px. */
export const SIZE = { frame: 30, titles: 150, row: 40, radius: 15, tail: 40 } as const;

/** What of Swirly's own model is used here; its package of types is not published with it. */
interface Message {
  frame: number;
  notification: { kind: 'N' | 'E' | 'C'; value?: string };
  styles?: Record<string, unknown>;
}

interface Stream {
  kind: 'S';
  title: string;
  frame: number;
  duration: number;
  messages: Message[];
  styles?: Record<string, unknown>;
}

const isWord = ({ notification }: Message): boolean => (notification.value ?? '').length > 1;

const FONT = 'Arial, Helvetica, sans-serif';

const STYLES = {
  canvas_padding: 0,
  background_color: 'transparent',
  frame_width: SIZE.frame,
  event_radius: SIZE.radius,
  event_stroke_width: 1.5,
  event_value_font_size: 15,
  event_value_font_family: FONT,
  completion_height: 34,
  error_size: 20,
  stacking_height: 32,
  stream_title_width: SIZE.titles,
  arrow_stroke_width: 1.5,
  arrow_width: 8,
  operator_height: 34,
  operator_spacing: 3,
  operator_stroke_width: 1.5,
  operator_corner_radius: 4,
  operator_title_font_size: 15,
  operator_title_font_family: FONT,
};

export interface Drawing {
  readonly svg: string;
  readonly height: number;
}

/**
 * Marbles on one line; several pieces may share it. The line is an arrow that reaches to `arrow` at least, or is left
 * to the caller.
 */
export function drawStream(
  pieces: readonly { readonly marbles: string; readonly from: number; readonly until: number }[],
  legend: ReadonlyMap<string, string>,
  arrow: number | 'none',
): Drawing {
  const messages = pieces.flatMap((piece) => {
    const config = [...legend].map(([letter, text]) => `${letter} := ${text}`);
    const { content } = parse([piece.marbles, ...config].join('\n')) as { content: Stream[] };
    return (content[0]?.messages ?? [])
      .map((message) => ({ ...message, frame: message.frame + piece.from }))
      .filter(({ frame }) => frame <= piece.until)
      .map((message) => (isWord(message) ? { ...message, styles: { value_font_size: 10 } } : message));
  });
  const ended = messages.some(({ notification }) => notification.kind !== 'N');
  const last = Math.max(0, ...messages.map(({ frame }) => frame), ended || arrow === 'none' ? 0 : arrow);
  // A blank title makes Swirly keep the column of titles free, and with it every row's zero at the same place.
  const styles = arrow === 'none' ? { arrow_stroke_color: 'transparent' } : {};
  return swirly([{ kind: 'S', title: ' ', frame: 0, duration: last, messages, styles } satisfies Stream], {});
}

/** The box that stands for the operator. */
export const drawOperator = (title: string, width: number): Drawing =>
  swirly([{ kind: 'O', title: [{ type: 'text', value: title }] }], { minimum_width: width });

function swirly(content: unknown[], styles: Record<string, unknown>): Drawing {
  const { xml, height } = renderMarbleDiagram({ content, styles: { ...STYLES, ...styles } }) as {
    xml: string;
    height: number;
  };
  // Not every viewer knows dominant-baseline; a shift by a share of the letter's height they all know.
  const inner = xml
    .replace(/^<svg[^>]*>|<\/svg>$/g, '')
    .replaceAll('dominant-baseline="middle"', 'dy="0.35em"')
    .replace(/<text[^>]*> <\/text>|<(line|polyline)[^>]* stroke="transparent"[^>]*\/>/g, '');
  return { svg: inner, height };
}

export const text = (x: number, y: number, size: number, content: string, more = ''): string =>
  `<text x="${px(x)}" y="${px(y)}" font-family="${FONT}" font-size="${size}px" ${more}>${escape(content)}</text>`;

export const rect = (x: number, y: number, width: number, height: number, more: string): string =>
  `<rect x="${px(x)}" y="${px(y)}" width="${px(width)}" height="${px(height)}" ${more}/>`;

export const horizontal = (x1: number, x2: number, y: number, more: string): string =>
  `<line x1="${px(x1)}" y1="${px(y)}" x2="${px(x2)}" y2="${px(y)}" ${more}/>`;

export const vertical = (x: number, y1: number, y2: number, more: string): string =>
  `<line x1="${px(x)}" y1="${px(y1)}" x2="${px(x)}" y2="${px(y2)}" ${more}/>`;

export const at = (x: number, y: number, svg: string): string =>
  `<g transform="translate(${px(x)} ${px(y)})">${svg}</g>`;

/** Two decimals everywhere: the last bits of a tangent are no reason for a picture to differ. */
export const rounded = (svg: string): string => svg.replace(/-?\d+\.\d{3,}/g, (number) => px(Number(number)));

const px = (value: number): string => String(Math.round(value * 100) / 100);

export const escape = (content: string): string =>
  content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** Breaks a sentence into lines of at most so many characters. */
export function wrap(sentence: string, columns: number): string[] {
  const lines: string[] = [];
  for (const word of sentence.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= columns) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
