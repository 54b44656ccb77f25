/** What a provider answers to the kinds of calls beyond a chat, with the usage that every answer states. */
import { USAGE, streamOpened, type Asked } from '../fetch/model-server.js';
import { INPUT, OUTPUT, answerInKind } from '../fetch/protocols.js';

/** Answers any call of the routes. */
export function answer(asked: Asked): void {
  if (asked.path.endsWith('/embeddings')) json(asked, EMBEDDING);
  else if (asked.path.endsWith('/responses')) response(asked);
  else if (asked.path.endsWith('/chat/completions') && asked.body.tools !== undefined) toolCall(asked);
  else answerInKind(asked);
}

const EMBEDDING = {
  object: 'list',
  model: 'm',
  data: [{ object: 'embedding', index: 0, embedding: [0.5] }],
  usage: { prompt_tokens: INPUT, total_tokens: INPUT },
};

function response(asked: Asked): void {
  const content = [{ type: 'output_text', text: 'hello', annotations: [] }];
  const whole = {
    id: 'r',
    object: 'response',
    model: 'm',
    status: 'completed',
    output: [{ type: 'message', id: 'o', role: 'assistant', status: 'completed', content }],
    usage: { input_tokens: INPUT, output_tokens: OUTPUT, total_tokens: INPUT + OUTPUT },
  };
  if (asked.body.stream !== true) {
    json(asked, whole);
    return;
  }
  const events = [
    { type: 'response.created', response: { ...whole, status: 'in_progress', usage: null } },
    { type: 'response.output_text.delta', item_id: 'o', output_index: 0, content_index: 0, delta: 'hello' },
    { type: 'response.completed', response: whole },
  ];
  streamOpened(asked).end(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''));
}

function toolCall(asked: Asked): void {
  const call = { id: 't', type: 'function', function: { name: 'look', arguments: '{}' } };
  const about = { id: 'c', created: 1, model: 'm' };
  const choice = { index: 0, finish_reason: 'tool_calls' };
  if (asked.body.stream !== true) {
    json(asked, { ...about, object: 'chat.completion', choices: [{ ...choice, message: { role: 'assistant', content: null, tool_calls: [call] } }], usage: USAGE });
    return;
  }
  const chunks = [
    { choices: [{ index: 0, delta: { tool_calls: [{ index: 0, ...call }] }, finish_reason: null }] },
    { choices: [{ ...choice, delta: {} }] },
    { choices: [], usage: USAGE },
  ].map((chunk) => `data: ${JSON.stringify({ ...about, object: 'chat.completion.chunk', ...chunk })}\n\n`);
  streamOpened(asked).end(`${chunks.join('')}data: [DONE]\n\n`);
}

function json({ answer: response }: Asked, body: object): void {
  response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
}
