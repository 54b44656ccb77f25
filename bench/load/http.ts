/** A real HTTP server on loopback: what it sees at once, and what became of every request. Counts and outcomes only. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AdmissionError, CountingGate, createAdmission, demand } from 'rx-admission';
import { randomOf } from '../random.js';
import type { Program } from './report.js';

const PERMITS = 8;
const REQUESTS = 400;
const MAX_WAITERS = 150;
/** Of those that wait, one in so many is cancelled by its caller. */
const CANCELLED = 5;

class Backend {
  atOnce = 0;
  most = 0;
  served = 0;
  dropped = 0;
  readonly server: Server;

  constructor(random: () => number) {
    this.server = createServer((request, response) => {
      this.atOnce += 1;
      this.most = Math.max(this.most, this.atOnce);
      // It takes a moment, so that requests are there at once; one in ten it drops.
      setTimeout(() => {
        this.atOnce -= 1;
        if (random() < 0.1) {
          this.dropped += 1;
          request.socket.destroy();
          return;
        }
        this.served += 1;
        response.end('ok');
      }, 2);
    });
  }

  async listening(): Promise<string> {
    await new Promise<void>((done) => this.server.listen(0, '127.0.0.1', done));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/`;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }
}

type Outcome = 'answered' | 'failed' | 'cancelled' | 'overflow';

export const http: Program = {
  name: 'http',
  what: `${REQUESTS} requests at once to a server on loopback, through ${PERMITS} permits and a line of ${MAX_WAITERS}`,
  async load(seed) {
    const random = randomOf(seed);
    const backend = new Backend(random);
    const url = await backend.listening();
    const admission = createAdmission({ maxWaiters: MAX_WAITERS });
    const gate = new CountingGate({ name: 'backend', capacity: PERMITS });
    const outcomes: Record<Outcome, number> = { answered: 0, failed: 0, cancelled: 0, overflow: 0 };
    const peaks: number[] = [];
    const cancels: AbortController[] = [];
    const requests = Array.from({ length: REQUESTS }, async (_, n) => {
      const cancel = new AbortController();
      if (n >= PERMITS && n % CANCELLED === 0) cancels.push(cancel);
      const call = admission.run(demand(gate), async () => (await fetch(url)).text(), { signal: cancel.signal });
      peaks.push(admission.queueSize);
      outcomes[await call.then(() => 'answered' as const, outcomeOf)] += 1;
    });
    for (const cancel of cancels) cancel.abort();
    await Promise.all(requests);
    const inUse = gate.inUse();
    await admission.drain();
    await backend.close();
    const sum = Object.values(outcomes).reduce((total, count) => total + count, 0);
    const { answered, failed, cancelled, overflow } = outcomes;
    return {
      runs: [],
      claims: [
        { what: `the server saw ${backend.most} requests at once, at most ${PERMITS}`, holds: backend.most <= PERMITS && backend.most > 1 },
        { what: `each of ${REQUESTS} requests ended once: ${answered} answered, ${failed} dropped by the server, ${cancelled} cancelled, ${overflow} beyond the line`, holds: sum === REQUESTS },
        { what: `the server served ${backend.served} and dropped ${backend.dropped}, as their callers say`, holds: backend.served === answered && backend.dropped === failed },
        { what: `at most ${Math.max(...peaks)} waited; at the end ${inUse} permits are out`, holds: Math.max(...peaks) <= MAX_WAITERS && inUse === 0 && overflow === REQUESTS - PERMITS - MAX_WAITERS && cancelled > 0 },
      ],
    };
  },
};

function outcomeOf(error: unknown): Outcome {
  if (!(error instanceof AdmissionError)) return 'failed';
  return error.reason === 'overflow' ? 'overflow' : 'cancelled';
}
