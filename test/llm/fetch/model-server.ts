/** A model's front door on loopback: it answers what each test tells it to, and counts who is inside at once. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Asked {
  readonly path: string;
  readonly text: string;
  /** Empty where the request is no JSON. */
  readonly body: Record<string, unknown>;
  readonly answer: ServerResponse;
}

export interface ModelServer {
  readonly url: string;
  readonly asked: Asked[];
  /** The most requests that were inside at once. */
  peak: number;
  close(): Promise<void>;
}

export async function startModelServer(serve: (asked: Asked, nth: number) => void | Promise<void>): Promise<ModelServer> {
  let inside = 0;
  const http = createServer((incoming, answer) => {
    inside += 1;
    server.peak = Math.max(server.peak, inside);
    answer.on('close', () => {
      inside -= 1;
    });
    void textOf(incoming).then((text) => {
      const asked: Asked = { path: incoming.url ?? '', text, body: text.startsWith('{') ? (JSON.parse(text) as Record<string, unknown>) : {}, answer };
      server.asked.push(asked);
      return serve(asked, server.asked.length);
    });
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const server: ModelServer = {
    url: `http://127.0.0.1:${String((http.address() as AddressInfo).port)}`,
    asked: [],
    peak: 0,
    close: () =>
      new Promise((resolve) => {
        http.closeAllConnections();
        http.close(() => {
          resolve();
        });
      }),
  };
  return server;
}

async function textOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

export const USAGE = { prompt_tokens: 40, completion_tokens: 10, total_tokens: 50 };

export function answerChat({ answer, body }: Asked): void {
  const { model } = body;
  answer.setHeader('content-type', 'application/json');
  const choices = [{ index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }];
  answer.end(JSON.stringify({ id: 'c', object: 'chat.completion', created: 1, model, choices, usage: USAGE }));
}

export const streamOpened = ({ answer }: Asked): ServerResponse => answer.writeHead(200, { 'content-type': 'text/event-stream' });

const chunkOf = (fields: object): string => `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', ...fields })}\n\n`;

export const word = (content: string): string => chunkOf({ choices: [{ index: 0, delta: { content }, finish_reason: null }] });

/** The rest of a stream, with its usage where it was asked for. */
export function endOfStream({ body }: Asked): string {
  const { include_usage } = (body.stream_options ?? {}) as { include_usage?: boolean };
  const usage = include_usage === true ? chunkOf({ choices: [], usage: USAGE }) : '';
  return `${chunkOf({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}${usage}data: [DONE]\n\n`;
}

export function refuse({ answer }: Asked, status: number, error: object, headers: Record<string, string> = {}): void {
  answer.writeHead(status, { 'content-type': 'application/json', ...headers });
  answer.end(JSON.stringify({ error }));
}
