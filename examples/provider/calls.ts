/** The burst itself: chat calls of many sizes, the same ones for the same seed. */
import { reservationOf } from './quota.js';
import { count } from './text.js';

export interface Call {
  readonly id: number;
  readonly messages: { role: 'user'; content: string }[];
  readonly maxTokens: number;
  /** What the provider will set aside for it the moment it arrives. */
  readonly tokens: number;
}

/** What it is called on the screen: `#007 (2,164 tokens)`. */
export const labelOf = ({ id, tokens }: Call): string => `#${String(id).padStart(3, '0')} (${count(tokens)} tokens)`;

/** Numbers in [0, 1) that look random and repeat with the seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const ASK = 'In one sentence: what does this note say about waiting your turn? ';
const NOTE = 'A job asks for everything it needs, and until all of it is free it holds nothing at all. ';
const ANSWER_LIMITS = [1024, 2048, 3072, 4096, 6144];

/** Short questions and long notes (up to some 2,000 tokens), with room for short and long answers. */
export function makeCalls(count: number, seed: number, costOf = reservationOf): Call[] {
  const random = seeded(seed);
  return Array.from({ length: count }, (_, index) => {
    const id = index + 1;
    const content = `Call ${id}. ${ASK}${NOTE.repeat(Math.floor(random() ** 2 * 90))}`;
    const messages = [{ role: 'user' as const, content }];
    const maxTokens = ANSWER_LIMITS[Math.floor(random() * ANSWER_LIMITS.length)] ?? 1024;
    return { id, messages, maxTokens, tokens: costOf({ messages, max_completion_tokens: maxTokens }) };
  });
}
