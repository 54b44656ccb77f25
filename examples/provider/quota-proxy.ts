/** A small HTTP proxy in place of a provider: whom its front door lets in is passed through, byte by byte. */
import { createServer, request } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Books } from './quota.js';

export interface QuotaProxy {
  readonly url: string;
  close(): Promise<void>;
}

/** Whom it lets in, and what it says of its limits. Time is an argument. */
export interface Door {
  /** Null lets the call in: it then is inside until `leave`. */
  arrive(body: Readonly<Record<string, unknown>>, at: number): NoEntry | null;
  /** The headers that go with every answer. */
  headers(at: number): Readonly<Record<string, string>>;
  /** The call has ended, with this answer so far. */
  leave(answer: string, at: number): void;
}

/** A door that keeps books. */
export interface KeptDoor extends Door {
  readonly books: Books;
}

export interface NoEntry {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: object;
}

export interface QuotaProxyOptions {
  /** Where admitted calls go, for example `http://127.0.0.1:4010`. */
  readonly upstream: string;
  readonly door: Door;
  /** The network in front of it: how long, in ms, one more call takes to arrive. */
  readonly latency?: () => number;
}

export async function startQuotaProxy({ upstream, door, latency = () => 0 }: QuotaProxyOptions): Promise<QuotaProxy> {
  const server = createServer((incoming, answer) => {
    serve(incoming, answer).catch((error: unknown) => answer.destroy(error as Error));
  });

  async function serve(incoming: IncomingMessage, answer: ServerResponse): Promise<void> {
    const body = await bodyOf(incoming);
    await sleep(latency());
    const at = performance.now();
    if (incoming.method !== 'POST') {
      forward(incoming, body, answer, () => undefined);
      return;
    }
    const refusal = door.arrive(jsonOf(body), at);
    for (const [name, value] of Object.entries(door.headers(at))) answer.setHeader(name, value);
    if (refusal === null) forward(incoming, body, answer, once((said) => door.leave(said, performance.now())));
    else answer.writeHead(refusal.status, { 'content-type': 'application/json', ...refusal.headers }).end(JSON.stringify(refusal.body));
  }

  function forward(incoming: IncomingMessage, body: Buffer, answer: ServerResponse, leave: (said: string) => void): void {
    const said: Buffer[] = [];
    const ended = (): void => leave(Buffer.concat(said).toString());
    const { method, headers } = incoming;
    const target = new URL(incoming.url ?? '/', upstream);
    const passed = request(target, { method, headers: { ...headers, host: target.host }, agent: false }, (reply) => {
      answer.writeHead(reply.statusCode ?? 502, reply.headers);
      reply.on('data', (chunk: Buffer) => {
        said.push(chunk);
        answer.write(chunk);
      });
      // The place is free before the caller can know that its call has ended.
      reply.on('end', () => {
        ended();
        answer.end();
      });
      reply.on('error', (error) => answer.destroy(error));
    });
    passed.on('error', (error) => {
      ended();
      if (answer.headersSent) answer.destroy(error);
      else answer.writeHead(502).end();
    });
    answer.on('close', () => {
      ended();
      passed.destroy();
    });
    passed.end(body);
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** What is no JSON has nothing to say; what is wrong with it is left to the upstream. */
function jsonOf(body: Buffer): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(body.toString()) as Record<string, unknown>;
  } catch {
    return { messages: body.toString() };
  }
}

async function bodyOf(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function once(action: (said: string) => void): (said: string) => void {
  let done = false;
  return (said) => {
    if (!done) action(said);
    done = true;
  };
}
