/** A small HTTP proxy in place of a provider's front door: it enforces a `Quota`, and passes the bytes through. */
import { createServer, request } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { reservationOf } from './quota.js';
import type { Quota, Refusal } from './quota.js';

export interface QuotaProxy {
  readonly url: string;
  close(): Promise<void>;
}

export interface QuotaProxyOptions {
  /** Where admitted calls go, for example `http://127.0.0.1:4010`. */
  readonly upstream: string;
  readonly quota: Quota;
  /** The network in front of it: how long, in ms, one more call takes to arrive. */
  readonly latency?: () => number;
}

export async function startQuotaProxy({ upstream, quota, latency = () => 0 }: QuotaProxyOptions): Promise<QuotaProxy> {
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
    const refusal = quota.arrive(costOf(body), at);
    for (const [name, value] of Object.entries(quota.headers(at))) answer.setHeader(name, value);
    if (refusal === null) forward(incoming, body, answer, once(() => quota.leave()));
    else refuse(answer, refusal);
  }

  function forward(incoming: IncomingMessage, body: Buffer, answer: ServerResponse, leave: () => void): void {
    const { method, headers } = incoming;
    const target = new URL(incoming.url ?? '/', upstream);
    const passed = request(target, { method, headers: { ...headers, host: target.host }, agent: false }, (reply) => {
      answer.writeHead(reply.statusCode ?? 502, reply.headers);
      reply.on('data', (chunk: Buffer) => answer.write(chunk));
      // The place is free before the caller can know that its call has ended.
      reply.on('end', () => {
        leave();
        answer.end();
      });
      reply.on('error', (error) => answer.destroy(error));
    });
    passed.on('error', (error) => {
      leave();
      if (answer.headersSent) answer.destroy(error);
      else answer.writeHead(502).end();
    });
    answer.on('close', () => {
      leave();
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

/** The 429 of an OpenAI-compatible provider. */
function refuse(answer: ServerResponse, { reason, message, retryAfterMs }: Refusal): void {
  const type = reason === 'tokens' ? 'tokens' : 'requests';
  if (retryAfterMs !== null) {
    answer.setHeader('retry-after', String(Math.ceil(retryAfterMs / 1000)));
    answer.setHeader('retry-after-ms', String(retryAfterMs));
  }
  answer.writeHead(429, { 'content-type': 'application/json' });
  answer.end(JSON.stringify({ error: { message, type, param: null, code: 'rate_limit_exceeded' } }));
}

/** What is no chat call costs its bytes; saying what is wrong with it is left to the upstream. */
function costOf(body: Buffer): number {
  try {
    return reservationOf(JSON.parse(body.toString()) as Record<string, unknown>);
  } catch {
    return Math.ceil(body.length / 4);
  }
}

async function bodyOf(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function once(action: () => void): () => void {
  let done = false;
  return () => {
    if (!done) action();
    done = true;
  };
}
