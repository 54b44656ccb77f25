/** Shutdown with drain on SIGTERM: what runs may end, what waits is refused, what does not end in time is aborted. */
import { catchError, from, map, of, type ObservableInput, timer } from 'rxjs';
import { CountingGate, StoppedError, createAdmission, demand, type Grant } from 'rx-admission';

const workers = new CountingGate({ name: 'workers', capacity: 3 });
const admission = createAdmission();
const outcomes = new Map<string, string>();

/** Ends by itself after 300 ms. */
const short = (): ObservableInput<string> => timer(300).pipe(map(() => 'done'));

/** Would never end: it listens to its grant's signal, as `fetch` and every SDK do, and takes 20 ms to clean up. */
const endless = (grant: Grant): ObservableInput<string> =>
  new Promise((resolve) => {
    grant.signal.addEventListener('abort', () => setTimeout(resolve, 20, 'aborted, cleaned up'));
  });

const jobs = ['a', 'b', 'endless', 'd', 'e'];
from(jobs)
  .pipe(
    admission.admit(
      demand(workers),
      (job, grant) => from(job === 'endless' ? endless(grant) : short()).pipe(map((outcome) => ({ job, outcome }))),
      {
        onRefused: (error, job) =>
          of({ job, outcome: error instanceof StoppedError ? 'refused: shutdown' : error.message }),
      },
    ),
    catchError((error: unknown) => of({ job: 'the stream', outcome: String(error) })),
  )
  .subscribe(({ job, outcome }) => {
    outcomes.set(job, outcome);
    console.log(`${job}: ${outcome}`);
  });

process.once('SIGTERM', () => void shutDown());

async function shutDown(): Promise<void> {
  console.log('SIGTERM: draining, 1 s at most');
  const report = await admission.drain({ timeout: 1_000 });
  const left = report.left.map(({ job }) => String(job)).join(', ');
  console.log(`drained: ${report.drained}, refused: ${report.refused}, told to abort: ${left}`);
  // Those that were told to abort may still clean up; a real server would now close its pools, in that order.
  const last = await admission.drain({ timeout: 1_000 });
  console.log(`drained: ${last.drained}`);
  judge(report.refused === 2 && left === 'endless' && last.drained);
}

function judge(reported: boolean): void {
  const expected = {
    a: 'done',
    b: 'done',
    endless: 'aborted, cleaned up',
    d: 'refused: shutdown',
    e: 'refused: shutdown',
  };
  const kept = reported && Object.entries(expected).every(([job, outcome]) => outcomes.get(job) === outcome);
  console.log(kept ? 'Kept: two ended, two were refused, one was aborted, and nothing is left.' : 'Broken.');
  process.exitCode = kept ? 0 : 1;
}

process.exitCode = 1; // until the drain has said otherwise
setTimeout(() => process.kill(process.pid, 'SIGTERM'), 10);
