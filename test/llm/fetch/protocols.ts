/** What a provider answers when all goes well, in each protocol that an SDK of ours speaks. */
import { AWS_EVENTS, awsEvent } from './aws-message.js';
import { USAGE, answerChat, endOfStream, streamOpened, word, type Asked } from './model-server.js';

/** What every answer says it used. */
export const INPUT = 40;
export const OUTPUT = 10;

/** Answers a call in the protocol of its path. */
export function answerInKind(asked: Asked): void {
  const { path } = asked;
  if (path.endsWith('/messages')) anthropic(asked);
  else if (path.includes('/models/')) gemini(asked);
  else if (path.startsWith('/model/')) bedrock(asked);
  else if (asked.body.stream === true) streamOpened(asked).end(word('hello') + (isMistral(asked) ? LAST_OF_MISTRAL : endOfStream(asked)));
  else answerChat(asked);
}

/** Its SDK has the version in the path, where the others take it from the address they are given. */
const isMistral = ({ path }: Asked): boolean => path.startsWith('/v1/');

/** It states the usage unasked, beside its last choice. */
const LAST_OF_MISTRAL = `data: ${JSON.stringify({
  id: 'c',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta: { content: '' }, finish_reason: 'stop' }],
  usage: USAGE,
})}\n\ndata: [DONE]\n\n`;

function anthropic(asked: Asked): void {
  const message = { id: 'm', type: 'message', role: 'assistant', model: 'm', stop_sequence: null };
  const usage = { input_tokens: INPUT, output_tokens: OUTPUT };
  if (asked.body.stream !== true) {
    json(asked, { ...message, content: [{ type: 'text', text: 'hello' }], stop_reason: 'end_turn', usage });
    return;
  }
  const events = [
    // What an answer that has only begun counts so far.
    { type: 'message_start', message: { ...message, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hello' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: OUTPUT } },
    { type: 'message_stop' },
  ];
  streamOpened(asked).end(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''));
}

function gemini(asked: Asked): void {
  const content = { role: 'model', parts: [{ text: 'hello' }] };
  const usageMetadata = { promptTokenCount: INPUT, candidatesTokenCount: OUTPUT, totalTokenCount: INPUT + OUTPUT };
  const whole = { candidates: [{ content, finishReason: 'STOP', index: 0 }], usageMetadata };
  if (!asked.path.includes('stream')) {
    json(asked, whole);
    return;
  }
  const begun = { candidates: [{ content, index: 0 }], usageMetadata: { promptTokenCount: INPUT, totalTokenCount: INPUT } };
  streamOpened(asked).end([begun, whole].map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join(''));
}

function bedrock(asked: Asked): void {
  const usage = { inputTokens: INPUT, outputTokens: OUTPUT, totalTokens: INPUT + OUTPUT };
  const metrics = { latencyMs: 1 };
  if (!asked.path.includes('stream')) {
    json(asked, { output: { message: { role: 'assistant', content: [{ text: 'hello' }] } }, stopReason: 'end_turn', usage, metrics });
    return;
  }
  const messages = [
    awsEvent('messageStart', { role: 'assistant' }),
    awsEvent('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'hello' } }),
    awsEvent('messageStop', { stopReason: 'end_turn' }),
    awsEvent('metadata', { usage, metrics }),
  ];
  asked.answer.writeHead(200, { 'content-type': AWS_EVENTS }).end(Buffer.concat(messages));
}

function json({ answer }: Asked, body: object): void {
  answer.setHeader('content-type', 'application/json').end(JSON.stringify(body));
}
