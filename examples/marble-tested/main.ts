/** A pipeline of one's own, tested as diagrams in virtual time: two stages, three accounts, no timers, no mocks. */
import type { Observable } from 'rxjs';
import { demand, type Account, type Admission } from 'rx-admission';
import { MarbleMismatch, admissionMarbles } from 'rx-admission/testing';

/** The code under test: pages are fetched over a few connections, then summarized at so many tokens a minute. */
interface Stages {
  readonly http: Account;
  readonly gpt: Account;
  readonly fetchPage: (url: string) => Observable<string>;
  readonly summarize: (page: string) => Observable<string>;
}

function summaries(urls$: Observable<string>, { admit }: Admission, { http, gpt, fetchPage, summarize }: Stages) {
  return urls$.pipe(
    admit(demand(http), (url) => fetchPage(url)),
    admit(
      (page) => demand([gpt, page.length]),
      (page) => summarize(page),
    ),
  );
}

const TEN_TOKENS = '0123456789';

const scenarios: Record<string, () => void> = {
  'the second page is fetched once the first one has been': () =>
    admissionMarbles(({ admission, gate, bucket, hot, cold, expectObservable }) => {
      const urls$ = hot('    ab-----|');
      const page = '         --p|';
      const summary = '      -(s|)';
      const out$ = summaries(urls$, admission, {
        http: gate('http', 1),
        gpt: bucket('gpt-5', 60_000),
        fetchPage: () => cold(page),
        summarize: () => cold(summary),
      });
      expectObservable(out$).toBe('---s--s|');
    }),

  'the third summary waits until the clock has brought its tokens': () =>
    admissionMarbles({ frame: 1_000 }, ({ admission, gate, bucket, hot, cold, expectObservable }) => {
      const urls$ = hot('   (abc)----------|');
      const out$ = summaries(urls$, admission, {
        http: gate('http', 8),
        gpt: bucket('gpt-5', 20), // one token in three seconds
        fetchPage: () => cold('(p|)', { p: TEN_TOKENS }),
        summarize: () => cold('(s|)'),
      });
      expectObservable(out$).toBe('(ss) 26s (s|)');
    }),

  'a full heap holds the fetches back, and they go one at a time': () =>
    admissionMarbles({ frame: 1_000 }, ({ admission, gate, bucket, heap, events, hot, cold, expectObservable }) => {
      heap('                h---m', { h: 0.96, m: 0.89 });
      const urls$ = hot('   ab--------------|');
      const http = gate('http', 8);
      const out$ = summaries(urls$, admission, {
        http,
        gpt: bucket('gpt-5', 60_000),
        fetchPage: () => cold('----(p|)', { p: TEN_TOKENS }),
        summarize: () => cold('(s|)'),
      });
      // The first page's summary joins memory's line behind the second fetch.
      expectObservable(out$).toBe('------------(ss)|');
      expectObservable(events(http)).toBe('----i---(ri)r');
    }),
};

let failed = 0;
for (const [title, scenario] of Object.entries(scenarios)) {
  try {
    scenario();
    console.log(`ok    ${title}`);
  } catch (error) {
    failed += 1;
    console.log(`FAIL  ${title}\n${String(error)}`);
  }
}

// A diagram that says something else fails, and the message shows both under each other.
let mismatch = '';
try {
  admissionMarbles(({ admission, gate, hot, cold, expectObservable }) => {
    const out$ = hot('ab--------|').pipe(admission.admit(demand(gate('http', 1)), () => cold('---x|')));
    expectObservable(out$).toBe('---xx-----|');
  });
} catch (error) {
  if (error instanceof MarbleMismatch) mismatch = error.message;
}
console.log(`\nAnd one that is wrong on purpose:\n\n${mismatch}\n`);
const kept = failed === 0 && mismatch.includes('expected');
console.log(kept ? 'Kept: three diagrams hold, and the wrong one does not.' : 'Broken.');
process.exitCode = kept ? 0 : 1;
