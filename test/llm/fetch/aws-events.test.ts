/** What Bedrock's streams say, read as they pass by: made by AWS's own encoder. */
import { classifyFailure } from 'rx-admission/llm';
import { describe, expect, it } from 'vitest';
import { answerReader, type AnswerReader } from '../../../src/llm/fetch/answer-reader.js';
import { AwsEvents } from '../../../src/llm/fetch/aws-events.js';
import { AWS_EVENTS, awsEvent } from './aws-message.js';

const usage = { inputTokens: 40, outputTokens: 10, totalTokens: 50, cacheReadInputTokens: 5 };
const delta = awsEvent('contentBlockDelta', { delta: { text: 'hello '.repeat(50) } });
const metadata = awsEvent('metadata', { usage });
const throttled = awsEvent('throttlingException', { message: 'slow' });

const cut = (bytes: Uint8Array, size: number): Uint8Array[] =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) => bytes.subarray(n * size, (n + 1) * size));

function read(...chunks: readonly Uint8Array[]): AnswerReader {
  const reader = answerReader(AWS_EVENTS, false);
  for (const chunk of chunks) expect(reader.push(chunk)).toEqual([chunk]);
  expect(reader.rest()).toEqual([]);
  return reader;
}

describe('a stream of Bedrock', () => {
  it.each([1, 7, 100, 10_000])('says what it used, and is handed on as it came, in chunks of %i bytes', (size) => {
    const { reading } = read(...cut(Buffer.concat([delta, metadata]), size));
    expect(reading).toEqual({ usage: { input: 45, output: 10, cacheRead: 5, cacheWrite: 0 }, isFinal: true, error: null });
  });

  it('that breaks before its metadata leaves the usage unknown', () => {
    expect(read(delta, metadata.subarray(0, -1)).reading).toEqual({ usage: null, isFinal: false, error: null });
  });

  it('that fails inside is a failure by the name of its exception', () => {
    const { error } = read(delta, throttled).reading;
    expect(classifyFailure(error)).toMatchObject({ kind: 'wait', weight: 1, detail: 'slow' });
  });

  it('is named by its headers up to the first that is no string', () => {
    const named = awsEvent('metadata', { usage });
    const other = Uint8Array.from(named);
    // The type of the first header's value, behind the prelude and ":message-type".
    other[12 + 1 + ':message-type'.length] = 0;
    expect([named, other].map((message) => new AwsEvents().push(message)[0]?.name)).toEqual(['metadata', '']);
  });

  it.each([
    ['text', new TextEncoder().encode('{"message":"no stream at all"}')],
    ['zeros', new Uint8Array(64)],
  ])('that is none says nothing: %s', (_, bytes) => {
    expect(read(bytes, bytes).reading).toEqual({ usage: null, isFinal: false, error: null });
  });
});
