/** The stage of the SDK examples: a provider on loopback that enforces its limits, and the same burst twice in front of it. */
import { makeCalls, seeded, type Call } from './calls.js';
import { startQuotaProxy, type KeptDoor } from './quota-proxy.js';
import { startModelServer } from './server.js';
import { count, percent, seconds } from './text.js';

export interface Burst {
  readonly name: string;
  /** A fresh one for each run. */
  readonly openDoor: () => KeptDoor;
  /** The client as most programs have it, and the client with three lines more. */
  readonly plain: (url: string) => Ask;
  readonly admitted: (url: string) => Ask;
}

/** One call, to the end of its answer. */
export type Ask = (call: Call) => PromiseLike<unknown>;

const CALLS = 200;
const SEED = 1;
/** The share of what the binding limit allows that has to be used. */
const LEAST_SHARE = 0.95;

interface Ran {
  readonly completed: number;
  readonly refusals: number;
  /** Of the burst and the rate times elapsed that the limit allowed. */
  readonly share: number;
  readonly took: number;
}

async function run({ openDoor }: Burst, asked: (url: string) => Ask): Promise<Ran> {
  const model = await startModelServer(SEED);
  const door = openDoor();
  const random = seeded(SEED);
  // Calls arrive in another order than they were sent in.
  const proxy = await startQuotaProxy({ upstream: model.url, door, latency: () => 5 + random() * 100 });
  const ask = asked(proxy.url);
  const began = performance.now();
  const ended = await Promise.allSettled(makeCalls(CALLS, SEED).map((call) => ask(call)));
  const took = performance.now() - began;
  await proxy.close();
  await model.close();
  const { limits, log } = door.books;
  const letIn = log.filter(({ refused }) => refused === null);
  const taken = letIn.reduce((sum, { tokens }) => sum + tokens, 0);
  const allowed = limits.tokensPerMinute * (1 + ((letIn.at(-1)?.at ?? began) - began) / 60_000);
  const completed = ended.filter(({ status }) => status === 'fulfilled').length;
  return { completed, refusals: log.length - letIn.length, share: taken / allowed, took };
}

/** Runs both, tells what came of them, and fails where the second was refused anything or left the limit unused. */
export async function compare(burst: Burst): Promise<void> {
  const plain = await run(burst, burst.plain);
  const admitted = await run(burst, burst.admitted);
  console.log(`${burst.name}: ${count(CALLS)} calls at once`);
  for (const [title, { completed, refusals, share, took }] of Object.entries({ 'as it is': plain, 'with three lines more': admitted })) {
    console.log(
      `  ${title.padEnd(22)} ${count(completed)} completed, ${count(refusals)} times 429, ` +
        `${percent(share)} of what was allowed, ${seconds(took)}`,
    );
  }
  const kept = admitted.completed === CALLS && admitted.refusals === 0 && admitted.share >= LEAST_SHARE;
  if (!kept || plain.refusals === 0) {
    console.error('broken: the second run should complete them all without a 429, at 95 % of what is allowed; the first should not');
    process.exitCode = 1;
  }
}
