/** One call with retry: every attempt is a new demand, so nothing is held while the call backs off. */
import { from, map, merge, retry, tap, timer, type Observable } from 'rxjs';
import { CountingGate, createAdmission, demand } from 'rx-admission';

const model = new CountingGate({ name: 'model', capacity: 1 });
const admission = createAdmission();

const history: string[] = [];
const say = (line: string): void => {
  history.push(line);
  console.log(line);
};
admission.events$.subscribe(({ type, job }) => {
  if (type === 'RELEASED') say(`  ${String(job)} gives its place back`);
  else if (type !== 'HELD') say(`  ${String(job)} gets the place`);
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

const heldInBackOff: unknown[] = [];
const retried = admission.defer(demand(model), flaky, { job: 'the retried call' }).pipe(
  retry({
    count: 5,
    delay: (error: Error, failures) => {
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

await merge(retried, others).forEach(() => undefined);

const answered = history.findIndex((line) => line.startsWith('answered'));
const done = history.findIndex((line) => line === 'call 2 is done');
const kept = attempts === 3 && done >= 0 && done < answered && !heldInBackOff.includes('the retried call');
console.log(kept ? 'Kept: the others ran during the back-off.' : 'Broken: the back-off held the place.');
process.exitCode = kept ? 0 : 1;
