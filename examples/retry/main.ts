/** One call with retry: every attempt is a new demand, so nothing is held while the call backs off. */
import { catchError, from, map, merge, of, retry, tap, throwError, timer, type Observable } from 'rxjs';
import { CountingGate, RefusedError, createAdmission, demand } from 'rx-admission';

const model = new CountingGate({ name: 'model', capacity: 1 });
const admission = createAdmission();

const history: string[] = [];
const say = (line: string): void => {
  history.push(line);
  console.log(line);
};
admission.events$.subscribe(({ type, job }) => {
  if (type === 'RELEASED') say(`  ${String(job)} gives its place back`);
  else if (type.startsWith('GRANTED')) say(`  ${String(job)} gets the place`);
});

let attempts = 0;
/** Fails twice, 20 ms after it started, and answers at the third attempt. */
function flaky(): Observable<string> {
  attempts += 1;
  const attempt = attempts;
  return timer(20).pipe(
    map(() => {
      if (attempt < 3) throw new Error(`503 at attempt ${attempt}`);
      return `answered at attempt ${attempt}`;
    }),
  );
}

/** Nothing that time would mend: a demand that can never fit, an abort, a stop. */
const isFinal = (error: unknown): boolean =>
  error instanceof RefusedError ? error.retryAt === undefined : error instanceof Error && error.name === 'AbortError';

const heldInBackOff: unknown[] = [];
const retried = admission.defer(demand(model), flaky, { job: 'the retried call' }).pipe(
  retry({
    count: 5,
    delay: (error: Error, failures) => {
      if (isFinal(error)) return throwError(() => error);
      say(`${error.message}: backs off`);
      heldInBackOff.push(...admission.status().grants.map(({ job }) => job));
      return timer(50 * 2 ** (failures - 1));
    },
  }),
  tap((answer) => say(answer)),
);

// Others ask for the same single place, and get it while the first call waits to try again.
const others = from(['call 1', 'call 2']).pipe(
  admission.admit(demand(model), (name) => timer(20).pipe(map(() => name))),
  tap((name) => say(`${name} is done`)),
);

// Two places of one: a no for good, which no repetition changes.
let asked = 0;
const impossible = admission
  .defer(() => ((asked += 1), demand([model, 2])), flaky)
  .pipe(
    retry({ count: 5, delay: (error: unknown) => (isFinal(error) ? throwError(() => error) : timer(50)) }),
    catchError((error: unknown) => of(`asked once, and not again: ${String(error)}`)),
    tap(say),
  );

await merge(retried, others, impossible).forEach(() => undefined);

const answered = history.findIndex((line) => line.startsWith('answered'));
const done = history.findIndex((line) => line === 'call 2 is done');
const kept = attempts === 3 && asked === 1 && done >= 0 && done < answered && !heldInBackOff.includes('the retried call');
console.log(kept ? 'Kept: the others ran during the back-off.' : 'Broken: the back-off held the place, or a no for good was asked again.');
process.exitCode = kept ? 0 : 1;
