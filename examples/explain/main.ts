/** "Why is this call waiting?": place in line, what it is short of, who holds that, and when it could go. */
import { NEVER, from } from 'rxjs';
import {
  CountingGate,
  ElasticWindow,
  TokenBucket,
  createAdmission,
  demand,
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

const summary = admission.status().summary();
console.log(summary);

const expected = [
  '2 running, 4 waiting',
  '1. long summary waits for gpt-5, 20s more at least',
  '2. order lookup waits for db:orders until one is given back, held by nightly report',
  '3. search for hats waits for search, 30s more at least',
  // Behind the head: its 20,000 tokens come first.
  '4. short summary waits for gpt-5, 20.1s more at least',
];
// A clock runs between the asks and the status: what is left may be a little less.
const rounded = (line = ''): string => line.replace(/[\d.]+s/, (time) => `${Math.round(parseFloat(time))}s`);
const lines = summary.split('\n');
// A line of each account follows.
const kept = lines.length === expected.length + 3 && expected.every((line, index) => rounded(line) === rounded(lines[index]));
console.log(kept ? '\nKept: every wait has its reason and its instant.' : '\nBroken.');
process.exitCode = kept ? 0 : 1;
running.unsubscribe();
