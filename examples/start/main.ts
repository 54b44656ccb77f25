/**
 * `npm start`: one burst of streaming chat calls, bare, through p-limit and through an SDK's client that admits, and what each
 * came to. What you would write yourself is in `burst.ts`; the rest is stage and lighting.
 */
import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { inputOf } from '../provider/anthropic-door.js';
import { makeCalls } from '../provider/calls.js';
import type { Call } from '../provider/calls.js';
import { runAdmitted, runOpponent } from './demo.js';
import type { Stage } from './demo.js';
import { HELP, UsageError, readOptions } from './options.js';
import type { Options } from './options.js';
import { failuresOf, jitterCovered, table, verdictOn } from './report.js';
import type { Run } from './report.js';
import { reservationOf } from '../provider/quota.js';
import { count, percent, seconds } from '../provider/text.js';

/** What each counts when a call arrives. */
const COSTS = { openai: reservationOf, anthropic: inputOf };

const EXIT = { kept: 0, broken: 1, usage: 2, interrupted: 130 };

async function main(options: Options): Promise<number> {
  const { stdout: out } = process;
  const calls = makeCalls(options.calls, options.seed, COSTS[options.provider]);
  const interruption = new AbortController();
  // The bare calls all listen to it.
  setMaxListeners(Infinity, interruption.signal);
  const stopped = (): boolean => interruption.signal.aborted;
  process.once('SIGINT', () => interruption.abort());
  // Whoever read the pipe has left (`npm start | head`).
  out.on('error', () => process.exit(EXIT.interrupted));
  const stage: Stage = { options, calls, out, interrupted: interruption.signal };

  out.write(`${opening(options, calls)}\n\n`);
  const runs: Run[] = [];
  for (const opponent of options.compare) {
    runs.push(await runOpponent(opponent, stage));
    if (stopped()) return interrupted(out);
    if (options.remote !== null) await aMinute(stage);
  }
  const admitted = await runAdmitted(stage);
  if (stopped()) return interrupted(out);

  out.write(`\n${table([...runs, admitted])}\n\n`);
  for (const failure of failuresOf([...runs, admitted])) out.write(`  ${failure}\n`);
  const verdict = verdictOn(admitted);
  out.write(`${aboutHeadroom(options)}\n${verdict.line}\n`);
  return verdict.kept ? EXIT.kept : EXIT.broken;
}

/** The run before has used up a real provider's quota, which the next one needs full. */
async function aMinute({ out, interrupted }: Stage): Promise<void> {
  out.write('\nWaiting a minute, until the quota is full again.\n');
  await sleep(60_000, undefined, { signal: interrupted }).catch(() => undefined);
}

function opening(options: Options, calls: readonly Call[]): string {
  const { model, concurrency, provider } = options;
  const what = provider === 'openai' ? 'tokens' : 'input tokens';
  const [tokens, requests] = [count(options.tokensPerMinute), count(options.requestsPerMinute)];
  const demanded = calls.reduce((total, call) => total + call.tokens, 0);
  return [
    `${count(calls.length)} streaming chat calls, ${count(demanded)} ${what} in all, ${provider} SDK without retries.`,
    `${model} allows ${tokens} ${what} and ${requests} requests a minute, and ${concurrency} calls at once.`,
  ].join('\n');
}

function aboutHeadroom({ headroom }: Options): string {
  if (headroom === 0) return 'Headroom 0: the two buckets never tick together, so expect a few 429s.';
  const covered = seconds(jitterCovered(headroom));
  return `Headroom ${percent(headroom)}: covers calls that take up to ${covered} longer than others to arrive.`;
}

function interrupted(out: NodeJS.WriteStream): number {
  out.write('\nInterrupted: what waited has left the line, what was running has ended.\n');
  return EXIT.interrupted;
}

try {
  const options = readOptions(process.argv.slice(2), process.env);
  if (options === 'help') process.stdout.write(HELP);
  else process.exitCode = await main(options);
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = EXIT.usage;
}
