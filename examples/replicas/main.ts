/** Two processes before one server: an account bounds one process, so the server's limit is divided among the replicas. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { from, lastValueFrom } from 'rxjs';
import { CountingGate, createAdmission, demand } from 'rx-admission';

const REPLICAS = 2;
const CALLS = 20;
/** What the server bears at once. */
const BEARS = 4;

const [, program = '', url, limit] = process.argv;
if (url === undefined) await operate();
else await replica(url, Number(limit));

/** A process of its own: its gate knows nothing of the others. */
async function replica(server: string, capacity: number): Promise<void> {
  const gate = new CountingGate({ name: 'calls', capacity });
  const { admit } = createAdmission();
  process.send?.('ready');
  await once(process, 'message');
  const calls$ = from(Array.from({ length: CALLS }, (_, n) => n)).pipe(admit(demand(gate), async () => (await fetch(server)).text()));
  await lastValueFrom(calls$);
  process.disconnect();
}

/** How many calls the server saw at once, at most. */
async function peakWith(capacity: number): Promise<number> {
  let open = 0;
  let peak = 0;
  const server = createServer((_request, response) => {
    open += 1;
    peak = Math.max(peak, open);
    void sleep(50).then(() => {
      open -= 1;
      response.end('done');
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const replicas = Array.from({ length: REPLICAS }, () => fork(program, [address, String(capacity)]));
  await Promise.all(replicas.map((each) => once(each, 'message')));
  for (const each of replicas) each.send('go');
  await Promise.all(replicas.map((each) => once(each, 'exit')));
  server.close();
  server.closeAllConnections();
  return peak;
}

async function operate(): Promise<void> {
  const whole = await peakWith(BEARS);
  const divided = await peakWith(Math.floor(BEARS / REPLICAS));
  console.log(`the server bears ${BEARS} at once, and is called by ${REPLICAS} processes`);
  console.log(`the whole limit in each: it sees up to ${whole}`);
  console.log(`the limit divided by the replicas: up to ${divided}`);
  if (whole <= BEARS || divided > BEARS) throw new Error('expected more than it bears, and then no more');
}
