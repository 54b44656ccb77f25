/** Limits that adapt, before a server that grows and shrinks: each serves what can be served, and no fixed limit does. */
import { VirtualAction, VirtualTimeScheduler, catchError, defer, of, repeat, tap } from 'rxjs';
import { CountingGate, UpstreamFailure, createAdmission, demand, type Ending, type Outcome } from 'rx-admission';
import { adaptiveGate, aimd, gradient2, vegas, type Limit } from 'rx-admission/bulkhead';
import { Overloaded, Server } from './server.js';

/** ms of work in a job: what a call takes where nobody waits. */
const SERVICE = 250;
/** Far more than any limit: somebody always waits. */
const CALLERS = 120;
/** Seconds of each phase; the second half of it is measured. */
const PHASE = 120;
/** The server's workers in each phase. */
const PHASES = [20, 40, 10] as const;

const overload = new UpstreamFailure({ status: 503, service: 'server', detail: 'overloaded' });

interface Measured {
  /** Share of what the workers could do. */
  readonly served: number;
  /** ms from a grant to its end, in the mean. */
  readonly latency: number;
  readonly refused: number;
  /** Permits at the end. */
  readonly limit: number;
}

type Gates = (scheduler: VirtualTimeScheduler) => CountingGate;
const fixed = (capacity: number): Gates => () => new CountingGate({ name: 'server', capacity });
const adaptive = (limit: Limit): Gates => (scheduler) => adaptiveGate({ name: 'server', limit, min: 2, max: 200, initial: 10, scheduler });

function measure(gateOn: Gates): Measured[] {
  const scheduler = new VirtualTimeScheduler(VirtualAction, 0);
  const server = new Server(scheduler, SERVICE);
  const gate = gateOn(scheduler);
  const admission = createAdmission({ scheduler });
  const outcome = ({ kind }: Ending): Outcome => (kind === 'C' ? 'success' : { pressure: overload, account: gate });
  let [count, refused, latencies] = [0, 0, 0];
  for (let caller = 0; caller < CALLERS; caller += 1) {
    const call = admission.defer(
      demand(gate),
      (grant) =>
        server.call().pipe(
          tap(() => {
            count += 1;
            latencies += grant.age;
          }),
        ),
      { outcome },
    );
    defer(() => call)
      .pipe(
        catchError((error: unknown) => {
          if (!(error instanceof Overloaded)) throw error;
          refused += 1;
          return of('refused');
        }),
        repeat(),
      )
      .subscribe();
  }
  const runTo = (seconds: number): void => {
    scheduler.maxFrames = 1_000 * seconds;
    scheduler.flush();
  };
  return PHASES.map((workers, phase) => {
    server.workers = workers;
    runTo(PHASE * (phase + 0.5));
    [count, refused, latencies] = [0, 0, 0];
    runTo(PHASE * (phase + 1));
    const most = (workers * (PHASE / 2) * 1_000) / SERVICE;
    return { served: count / most, latency: latencies / count, refused, limit: gate.capacity };
  });
}

const LIMITS: readonly (readonly [string, Gates])[] = [
  ['20 permits', fixed(20)],
  ['100 permits', fixed(100)],
  ['aimd()', adaptive(aimd())],
  ['vegas()', adaptive(vegas())],
  ['gradient2()', adaptive(gradient2())],
];

const rows = LIMITS.map(([name, gates]) => ({ name, phases: measure(gates) }));
const shown = ({ served, latency, refused, limit }: Measured): string =>
  `${String(Math.round(100 * served)).padStart(3)}% ${String(Math.round(latency)).padStart(3)}ms ${refused > 0 ? 'no' : '  '} @${String(limit)}`;
console.log('Of what the workers can do, so much is served; ms in the mean; no: some were refused; @ limit at the end\n');
const line = (name: string, cells: readonly string[]): string =>
  [name.padEnd(12), ...cells.map((cell) => cell.padEnd(20))].join('').trimEnd();
console.log(line('', PHASES.map((workers) => `${String(workers)} workers`)));
for (const { name, phases } of rows) console.log(line(name, phases.map(shown)));

const [small, , ...adapting] = rows;
const halved = (small?.phases[1]?.served ?? 1) < 0.55;
const doubled = (small?.phases[2]?.latency ?? 0) > 1.9 * SERVICE;
// As docs/bulkheads.md states: nearly all is served in each phase, and waiting there is bounded by what the algorithm allows.
const serve = adapting.every(({ phases }) => phases.every(({ served }) => served > 0.95));
// aimd() keeps to what the server refuses, and hears nothing of latency.
const calm = adapting.slice(1).every(({ phases }) => phases.every(({ latency }) => latency < 2.2 * SERVICE));
const kept = halved && doubled && serve && calm;
console.log(kept ? '\nKept: what adapts serves over 95% of each server; 20 permits serve half of one, and queue at another.' : '\nBroken.');
process.exitCode = kept ? 0 : 1;
