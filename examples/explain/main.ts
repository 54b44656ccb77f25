/** "Why is this call waiting?": place in line, what it is short of, who holds that, and when it could go. */
import { NEVER, from } from 'rxjs';
import {
  CountingGate,
  ElasticWindow,
  TokenBucket,
  createAdmission,
  demand,
  type AdmissionStatus,
  type Demand,
} from 'rx-admission';

const gpt = new TokenBucket({ name: 'gpt-5', tokensPerMinute: 60_000, requestsPerMinute: 500 });
const database = new CountingGate({ name: 'db:orders', capacity: 1 });
const search = new ElasticWindow({ name: 'search', maxRequests: 1, baseWindow: 30_000 });

const jobs: { name: string; needs: Demand }[] = [
  { name: 'nightly report', needs: demand([gpt, 60_000], database) },
  { name: 'search for shoes', needs: demand(search) },
  { name: 'long summary', needs: demand([gpt, 20_000]) },
  { name: 'order lookup', needs: demand(database) },
  { name: 'search for hats', needs: demand(search) },
  { name: 'short summary', needs: demand([gpt, 100]) },
];

const admission = createAdmission();
const running = from(jobs)
  .pipe(
    admission.admit(
      ({ needs }) => needs,
      () => NEVER,
    ),
  )
  .subscribe();

const nameOf = (job: unknown): string => (job as { name: string }).name;

/** One line for each waiter. */
function explain({ at, waiters, grants }: AdmissionStatus): string[] {
  return waiters.map(({ place, job, shortOf, earliest }) => {
    const holders = grants.filter(({ accounts }) => accounts.some((account) => shortOf.includes(account)));
    const when =
      earliest === null ? 'when one is given back' : `in ${((earliest - at) / 1_000).toFixed(0)} s at the earliest`;
    const held = earliest === null ? `, held by ${holders.map((grant) => nameOf(grant.job)).join(', ')}` : '';
    return `${place}. ${nameOf(job).padEnd(16)} waits for ${shortOf.join(', ').padEnd(9)}  ${when}${held}`;
  });
}

const status = admission.status();
console.log(`${status.grants.length} run, ${status.queueSize} wait`);
const lines = explain(status);
for (const line of lines) console.log(line);
console.log();
for (const { name, status: own } of status.accounts) console.log(`${name.padEnd(10)} ${own?.summary() ?? ''}`);

const expected = [
  /^1\. long summary .* waits for gpt-5 .* in 20 s at the earliest$/,
  /^2\. order lookup .* waits for db:orders .* when one is given back, held by nightly report$/,
  /^3\. search for hats .* waits for search .* in 30 s at the earliest$/,
  // Behind the head: its 20,000 tokens come first.
  /^4\. short summary .* waits for gpt-5 .* in 20 s at the earliest$/,
];
const kept = lines.length === expected.length && expected.every((pattern, index) => pattern.test(lines[index] ?? ''));
console.log(kept ? '\nKept: every wait has its reason and its instant.' : '\nBroken.');
process.exitCode = kept ? 0 : 1;
running.unsubscribe();
