/** A real server on loopback that gives one recorded answer after another. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Answer } from './recorded.js';

export interface Replay {
  readonly url: string;
  answer(next: Answer | 'dies'): void;
  close(): Promise<void>;
}

export async function replay(): Promise<Replay> {
  let next: Answer | 'dies' = 'dies';
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      if (next === 'dies') {
        response.destroy();
        return;
      }
      response.writeHead(next.status, next.headers);
      if (next.breaksAfterIt === undefined) response.end(next.body);
      else response.write(next.body, () => setTimeout(() => response.destroy(), 10));
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    answer: (answer) => {
      next = answer;
    },
    close: () =>
      new Promise((closed) => {
        server.close(() => {
          closed();
        });
        server.closeAllConnections();
      }),
  };
}
