/** Counts what a run of .ci/run came to, from the runners' own results, and closes with one line. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

interface Count {
  readonly passed: number;
  readonly failed: number;
}

/** A missing result is a failure of its own: a run that ended early must not look like one with few tests. */
const MISSING: Count = { passed: 0, failed: 1 };

interface VitestResults {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly testResults: readonly { readonly status: string; readonly assertionResults: readonly { status: string }[] }[];
  readonly success: boolean;
}

/** Files that failed before any of their tests could: an import that throws, a hook that fails. */
function brokenFiles({ testResults }: VitestResults): number {
  const broken = testResults.filter(
    ({ status, assertionResults }) => status === 'failed' && assertionResults.every((test) => test.status !== 'failed'),
  );
  return broken.length;
}

function tests(path: string): Count {
  if (!existsSync(path)) return MISSING;
  const results = JSON.parse(readFileSync(path, 'utf8')) as VitestResults;
  const failed = results.numFailedTests + brokenFiles(results);
  return { passed: results.numPassedTests, failed: failed === 0 && !results.success ? 1 : failed };
}

function conformance(path: string): Count {
  const closing = existsSync(path) ? /^(\d+) passed, (\d+) failed, \d+ skipped$/m.exec(readFileSync(path, 'utf8')) : null;
  return closing === null ? MISSING : { passed: Number(closing[1]), failed: Number(closing[2]) };
}

const work = process.argv[2];
if (work === undefined) throw new Error('usage: tally <folder of results>');

const unit = tests(join(work, 'tests.json'));
const newest = tests(join(work, 'tests-newest.json'));
const scenarios = conformance(join(work, 'conformance.log'));
const steps = readFileSync(join(work, 'failed-steps'), 'utf8').split('\n').filter(Boolean);

/** Steps whose failures are counted one by one already. */
const COUNTED: Readonly<Record<string, Count>> = { test: unit, 'tests-on-newest-node': newest, conformance: scenarios };
const uncounted = steps.filter((step) => (COUNTED[step]?.failed ?? 0) === 0);

console.log(`tests: ${unit.passed} passed, ${unit.failed} failed`);
console.log(`the same on the newest Node LTS: ${newest.passed} passed, ${newest.failed} failed`);
console.log(`conformance scenarios: ${scenarios.passed} passed, ${scenarios.failed} failed`);
console.log(`failed steps: ${steps.length === 0 ? 'none' : steps.join(', ')}`);

// Each test and scenario counts once; the second run of the tests adds only its failures, a failed step itself.
const passed = unit.passed + scenarios.passed;
const failed = unit.failed + newest.failed + scenarios.failed + uncounted.length;
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
