/** What answers say of their usage: recorded shapes of each provider, whole and in streams. */
import { describe, expect, it } from 'vitest';
import { answerReader } from '../../src/llm/fetch/answer-reader.js';
import { usageOf, type Usage } from '../../src/llm/usage.js';

const used = (input: number, output: number, cacheRead = 0, cacheWrite = 0): Usage => ({ input, output, cacheRead, cacheWrite });

describe('a usage record', () => {
  it.each<[string, object, Usage]>([
    [
      'OpenAI chat, where the prompt includes what was cached',
      { prompt_tokens: 2006, completion_tokens: 300, total_tokens: 2306, prompt_tokens_details: { cached_tokens: 1920 } },
      used(2006, 300, 1920),
    ],
    ['OpenAI embeddings', { prompt_tokens: 8, total_tokens: 8 }, used(8, 0)],
    [
      'OpenAI responses',
      { input_tokens: 36, input_tokens_details: { cached_tokens: 4 }, output_tokens: 87, total_tokens: 123 },
      used(36, 87, 4),
    ],
    ['OpenAI responses without details', { input_tokens: 36, output_tokens: 87, total_tokens: 123 }, used(36, 87)],
    [
      'Anthropic, where what was cached counts beside the prompt',
      { input_tokens: 50, cache_creation_input_tokens: 200, cache_read_input_tokens: 1_000, output_tokens: 30 },
      used(1_250, 30, 1_000, 200),
    ],
    ['Anthropic with fields that are null', { input_tokens: 50, cache_read_input_tokens: null, output_tokens: 30 }, used(50, 30)],
    [
      'Gemini, whose thoughts are output',
      { promptTokenCount: 40, candidatesTokenCount: 12, thoughtsTokenCount: 100, cachedContentTokenCount: 16, totalTokenCount: 152 },
      used(40, 112, 16),
    ],
    ['Bedrock', { inputTokens: 10, outputTokens: 5, cacheReadInputTokens: 90, totalTokens: 105 }, used(100, 5, 90)],
    ['what is absurd', { prompt_tokens: -1, completion_tokens: 'many' }, used(0, 0)],
  ])('is read: %s', (_whose, record, usage) => {
    expect(usageOf(record)).toEqual(usage);
  });

  it.each([null, undefined, 7, 'usage', [], {}, { tokens: 7 }])('is none: %j', (record) => {
    expect(usageOf(record)).toBeNull();
  });
});

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Pushes the text in pieces of `size` bytes; answers what was handed on, and the reading. */
function read(type: string, text: string, { size = 7, isOurs = false } = {}) {
  const reader = answerReader(type, isOurs);
  const passed: Uint8Array[] = [];
  const whole = bytes(text);
  for (let at = 0; at < whole.length; at += size) passed.push(...reader.push(whole.subarray(at, at + size)));
  passed.push(...reader.rest());
  return { passed: Buffer.concat(passed).toString(), pieces: passed.length, reading: reader.reading };
}

const SSE = 'text/event-stream; charset=utf-8';
const chat = (fields: object): string => `data: ${JSON.stringify({ object: 'chat.completion.chunk', ...fields })}\n\n`;
const named = (type: string, fields: object, end = '\n'): string =>
  `event: ${type}${end}data: ${JSON.stringify({ type, ...fields })}${end}${end}`;

const HELLO = chat({ choices: [{ delta: { content: 'héllo, "usage" is a word' } }], usage: null });
const USAGE = chat({ choices: [], usage: { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 } });
const DONE = 'data: [DONE]\n\n';

describe('the usage of a stream', () => {
  it.each<[string, string, Usage]>([
    ['OpenAI chat', HELLO + USAGE + DONE, used(9, 4)],
    [
      'OpenAI responses',
      named('response.created', { response: { usage: null, error: null } }) +
        named('response.completed', { response: { error: null, usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 } } }),
      used(3, 2),
    ],
    [
      'Anthropic: the prompt at the start, the answer at the end',
      named('message_start', { message: { usage: { input_tokens: 25, cache_read_input_tokens: 5, output_tokens: 1 } } }) +
        named('content_block_delta', { delta: { type: 'text_delta', text: 'usage' } }) +
        named('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 15 } }) +
        named('message_stop', {}),
      used(30, 15, 5),
    ],
    [
      'Gemini: each chunk counts all so far',
      chat({ candidates: [{ content: {} }], usageMetadata: { promptTokenCount: 4, candidatesTokenCount: 2 } }) +
        chat({ candidates: [{ finishReason: 'STOP' }], usageMetadata: { promptTokenCount: 4, candidatesTokenCount: 9 } }),
      used(4, 9),
    ],
    ['Groq', chat({ choices: [{ delta: {} }], x_groq: { usage: { prompt_tokens: 7, completion_tokens: 1 } } }) + DONE, used(7, 1)],
  ])('is read wherever the chunks end: %s', (_whose, text, usage) => {
    for (const variant of [text, text.replaceAll('\n', '\r\n'), text.replaceAll('\n', '\r')]) {
      for (const size of [1, 2, 5, 64, 100_000]) {
        const { passed, reading } = read(SSE, variant, { size });
        expect(reading).toEqual({ usage, isFinal: true, error: null });
        expect(passed).toBe(variant);
      }
    }
  });

  it('is not final while the answer is not', () => {
    const start = named('message_start', { message: { usage: { input_tokens: 25, output_tokens: 1 } } });
    expect(read(SSE, start).reading).toEqual({ usage: used(25, 1), isFinal: false, error: null });
    const chunk = chat({ candidates: [{ content: {} }], usageMetadata: { promptTokenCount: 4 } });
    expect(read(SSE, chunk).reading.isFinal).toBe(false);
    expect(read(SSE, HELLO).reading).toEqual({ usage: null, isFinal: false, error: null });
  });

  it('is left out of what is handed on where nobody but us asked for it', () => {
    const filters = chat({ choices: [], prompt_filter_results: [] });
    for (const size of [1, 3, 100_000]) {
      const { passed, reading } = read(SSE, filters + HELLO + USAGE + DONE, { size, isOurs: true });
      expect(passed).toBe(filters + HELLO + DONE);
      expect(reading.usage).toEqual(used(9, 4));
    }
  });

  it('hands on an event that never ended', () => {
    expect(read(SSE, `${HELLO}data: {"choi`, { isOurs: true }).passed).toBe(`${HELLO}data: {"choi`);
  });

  it('hands on each chunk as it came', () => {
    expect(read(SSE, HELLO, { size: 10 }).pieces).toBe(Math.ceil(bytes(HELLO).length / 10));
  });
});

describe('an error inside a stream', () => {
  it.each<[string, string, object]>([
    [
      'Anthropic',
      named('error', { error: { type: 'overloaded_error', message: 'Overloaded' } }),
      { type: 'overloaded_error', message: 'Overloaded' },
    ],
    [
      'OpenAI chat',
      chat({ error: { message: 'Rate limit reached', type: 'tokens', code: 'rate_limit_exceeded' } }),
      { message: 'Rate limit reached', type: 'tokens', code: 'rate_limit_exceeded' },
    ],
    [
      'OpenAI responses',
      named('response.failed', { response: { error: { code: 'rate_limit_exceeded', message: 'slow' }, usage: null } }),
      { code: 'rate_limit_exceeded', message: 'slow' },
    ],
    [
      'OpenAI responses, as an event',
      named('error', { code: 'server_error', message: 'oops' }),
      { type: 'error', code: 'server_error', message: 'oops' },
    ],
    ['a text', 'data: {"error":"too many"}\n\n', { message: 'too many' }],
  ])('is found: %s', (_whose, text, error) => {
    expect(read(SSE, HELLO + text).reading.error).toEqual(error);
  });

  it.each(['event: error\ndata: overloaded\n\n', 'event: error\ndata: []\n\n'])('is none that could be told where it is no JSON object: %j', (text) => {
    expect(read(SSE, HELLO + text).reading.error).toBeNull();
  });
});

describe('the usage of a body', () => {
  it('is read of JSON', () => {
    const body = JSON.stringify({ choices: [], usage: { prompt_tokens: 9, completion_tokens: 4 } }, null, 2);
    expect(read('application/json', body)).toMatchObject({ passed: body, reading: { usage: used(9, 4), isFinal: true } });
  });

  it('is read of the last chunk where Gemini streams a list', () => {
    const list = [{ usageMetadata: { promptTokenCount: 4 } }, { usageMetadata: { promptTokenCount: 4, candidatesTokenCount: 9 } }];
    expect(read('application/json', JSON.stringify(list)).reading.usage).toEqual(used(4, 9));
  });

  it.each(['application/json', 'audio/mpeg', ''])('is unknown where there is none to read: %s', (type) => {
    expect(read(type, '{"choices": [')).toEqual({ passed: '{"choices": [', pieces: 2, reading: { usage: null, isFinal: false, error: null } });
  });
});
