/**
 * Whether each test that docs/llm-traps.md names fails without what handles its trap: `npm run traps:bites` takes that out
 * of a copy, one row at a time, and the test must not pass. `-- 12 40` tries the rows on those lines, `-- --sample 10` so
 * many, evenly from one that the day chooses.
 */
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { TRAPS, type TrapRow } from './llm-traps.js';

/** What handles a trap, and what stands there without it; in the order of the page. */
type Handling = readonly [file: string, from: string, to: string];

const NOTHING_USED = '{ input: 0, cacheRead: 0, cacheWrite: 0, output: 0 }';

const HANDLINGS: readonly Handling[] = [
  // Headers
  ['llm/time-span.ts', '(ns|us|µs|μs|ms|s|m|h|d)', '(ns|us|µs|μs|s|m|ms|h|d)'],
  ['llm/time-span.ts', 'if (value >= EPOCH_MS) return value - wallNow;', ''],
  ['llm/time-span.ts', ' || span > LONGEST', ''],
  ['llm/time-span.ts', 'Math.max(0, span)', 'span'],
  ['llm/header-reader.ts', 'Number.isNaN(date) ? wallNow() : date', 'wallNow()'],
  ['llm/figures.ts', ' || SENTINELS.has(value)', ''],
  ['llm/figures.ts', String.raw`/^\d+$/`, String.raw`/^-?\d+$/`],
  ['llm/follow-limits.ts', 'if (tokens.length === 0 && requests.length === 0) return;', ''],
  ['llm/read-rate-limits.ts', "read('retry-after-ms') ?? ", ''],
  ['llm/read-rate-limits.ts', " ?? read('x-ms-retry-after-ms')", ''],
  ['llm/read-rate-limits.ts', 'span === null || span === 0 ? null : span', 'span'],
  ['llm/time-span.ts', 'value >= EPOCH_MS', 'value >= Infinity'],
  ['llm/ietf.ts', "if (state.some(({ parameters }) => parameters.has('r')))", 'if (Number(1) > 1)'],
  ['llm/ietf.ts', 'return state.map(', 'return state.slice(0, 1).map('],
  ['llm/read-rate-limits.ts', 'const limits = own.length > 0 ? own :', "const limits = provider?.rateLimits.length === 0 ? [{ meter: 'requests', grain: 1, pool: null, period: null, limit: null, remaining: null, resetIn: null }] : own.length > 0 ? own :"],
  // Limits
  ['llm/follow-limits.ts', '  bucket.lowerTo(', '  bucket.closeUntil(sentAt + Math.max(0, ...tokens.map(({ resetIn }) => resetIn ?? 0)));\n  bucket.lowerTo('],
  ['accounts/level.ts', 'Math.min(now.stored, most +', '0 * now.stored + (most +'],
  ['llm/follow-limits.ts', 'requests: remainingOf(requests) }, sentAt)', 'requests: remainingOf(requests) }, Infinity)'],
  ['llm/follow-limits.ts', 'if (before !== undefined && sentAt < before.sentAt) return;', ''],
  ['llm/follow-limits.ts', 'isSame(before.left, limits) ? before.configured : limits', 'isSame(before.left, limits) ? limits : limits'],
  ['llm/follow-limits.ts', '.filter(({ limit }) => (limit ?? Infinity) >= served)', ''],
  ['llm/follow-limits.ts', 'at - news.sentAt < STALE', 'at - news.sentAt < Infinity'],
  ['llm/follow-limits.ts', "new Set([null, 'project'])", 'new Set([null])'],
  ['llm/providers/openai.ts', "MINUTE, 'usage based')", 'MINUTE)'],
  ['llm/providers/openai.ts', ', orPeriod: DAY }', ' }'],
  ['llm/providers/groq.ts', "'requests', DAY", "'requests', MINUTE"],
  ['llm/providers/mistral.ts', 'period: MONTH', 'period: MINUTE'],
  ['llm/providers/together.ts', 'period: SECOND,\n', 'period: 60 * SECOND,\n'],
  ['llm/providers/cerebras.ts', "'requests-day', DAY", "'requests-day', MINUTE"],
  ['llm/follow-limits.ts', ' && each.period === PERIOD', ''],
  ['llm/fetch/turnstile.ts', 'for (const account of chosen(this.#settings.permits, call) ?? []) demand = demand.add(account);', ''],
  ['llm/follow-limits.ts', "budget === 'tokens' && isApart ? [] : ", ''],
  ['llm/follow-limits.ts', 'grain > 1 ? grain / 2 : 0', '0'],
  ['llm/follow-limits.ts', ' && BINDING.has(each.pool)', ''],
  ['llm/follow-limits.ts', 'if (tokens.length === 0 && requests.length === 0) return;', 'if (tokens.length >= 0) return;'],
  // What a call costs
  ['llm/charge.ts', 'Math.max(counted, maxOutput)', '(counted + maxOutput)'],
  ['llm/charge.ts', 'both(counted, maxOutput), ...neverRefunded', 'both(counted, 0), ...neverRefunded'],
  ['llm/charge.ts', 'reserve: ({ input, output }) => both(input, output)', 'reserve: ({ input, maxOutput }) => both(input, maxOutput)'],
  ['llm/charge.ts', "options.cacheReads ?? 'free'", "'free'"],
  ['llm/charge.ts', 'both(input - cacheRead, output * burndown)', 'both(input, output * burndown)'],
  ['llm/charge.ts', 'output * burndown', 'output'],
  ['llm/charge.ts', 'isBounded ? maxOutput : largest', 'maxOutput'],
  ['llm/charge.ts', 'settle: ({ input }) => both(input, 0)', 'settle: ({ input, output }) => both(input, output)'],
  ['llm/usage.ts', ' + first(record.thoughtsTokenCount)', ''],
  ['llm/charge.ts', "asTaken('groq', 'free')", "asTaken('groq', 'counted')"],
  ['llm/usage.ts', 'return usage(first(record.prompt_tokens),', 'return usage(first(record.prompt_tokens) + cacheRead,'],
  ['llm/usage.ts', 'fresh + cacheRead + cacheWrite', 'fresh'],
  ['llm/call.ts', 'body.n, body.best_of, config.candidateCount', 'body.n'],
  ['llm/call.ts', '    config.maxOutputTokens,\n', ''],
  ['llm/call.ts', 'ANSWERLESS.test(about.operation) ? 0 : (asked ?? null)', 'asked ?? null'],
  ['llm/call.ts', "typeof value === 'string' && isMedia(value)", "typeof value === 'string' && isMedia('')"],
  ['llm/estimate.ts', 'Math.min(BOUNDS.most, Math.max(BOUNDS.least, factor))', '1'],
  ['llm/charge.ts', 'greater(reserved, both(usage.input, usage.output))', 'reserved'],
  ['llm/fetch/passage.ts', 'ending.usage ? policy.settle(ending.usage, reserved) : null', `policy.settle(ending.usage ?? ${NOTHING_USED}, reserved)`],
  ['llm/fetch/turnstile.ts', 'policy.clamps.includes(budget) ? Math.min(amount, account.capacity) : amount', 'Math.min(amount, account.capacity)'],
  ['llm/fetch/turnstile.ts', 'policy.clamps.includes(budget) ? Math.min(amount, account.capacity) : amount', 'amount'],
  // Errors
  ['llm/fetch/exchange.ts', "if (passage.isHopeless(error)) told.set('x-should-retry', 'false');", ''],
  ['llm/providers/openai.ts', "        'organization_spend_limit_exceeded',\n", ''],
  ['llm/providers/openai.ts', String.raw`says: /^(?:\d{3} )?request too large\b/i`, 'says: /^never$/'],
  ['llm/providers/openai.ts', "words: ['slow_down']", 'words: []'],
  ['llm/classify-failure.ts', "waitInText(messages.join('\\n'))", 'null'],
  ['llm/failure-facts.ts', "const STATUSES = ['status', ", 'const STATUSES = ['],
  ['llm/providers/azure.ts', String.raw`/\bhigh demand\b/i`, '/^never$/'],
  ['llm/classify-failure.ts', '(wait !== null && wait > (options.longestWait ?? LONGEST_WAIT)) || ', ''],
  ['llm/providers/anthropic.ts', String.raw`/\bacceleration\b/i`, '/^never$/'],
  ['llm/providers/anthropic.ts', 'usage limits\\b/i, status: [400]', 'usage limits\\b/i, status: [429]'],
  ['llm/feedback.ts', "isBucket(account) === (kind === 'wait')", "isBucket(account) || kind === 'transient'"],
  ['llm/classify-failure.ts', "parseDuration(IN_TEXT.exec(text)?.[1] ?? '')", 'null'],
  ['llm/providers/gemini.ts', '/PerDay/', '/^never$/'],
  ['llm/providers/gemini.ts', String.raw`/\blimit: 0\b/`, '/^never$/'],
  ['llm/providers/bedrock.ts', "thrownOrStreamed('ServiceQuotaExceededException')", '[]'],
  ['llm/providers/bedrock.ts', "thrownOrStreamed('ModelNotReadyException')", '[]'],
  ['llm/failure-facts.ts', "?.split(':')[0]", ''],
  ['llm/providers/groq.ts', 'status: [498]', 'status: []'],
  ['llm/providers/together.ts', "status: [503], of: 'together'", "status: [], of: 'together'"],
  ['llm/providers/openrouter.ts', 'status: [402]', 'status: []'],
  ['llm/fetch/exchange.ts', 'passage.end(error === null ?', 'passage.end(error !== undefined ?'],
  ['llm/classify-failure.ts', 'retryAt: wait === null ? null : now() + wait', 'retryAt: wait === null ? null : null'],
  ['llm/feedback.ts', ' || isBeforeJam(account, grantedAt)) return', ') return'],
  ['accounts/minute.ts', 'stored: Math.min(0, level.stored)', 'stored: level.stored'],
  ['llm/classify-failure.ts', " || read('x-should-retry') === 'false'", ''],
  // Streams
  ['llm/fetch/answer-reader.ts', 'if (!isUsageOnly(data)) kept.push(bytes);', 'kept.push(bytes);'],
  ['llm/fetch/exchange.ts', 'passage.left(isFinal ? usage : null, why);', `passage.left(isFinal ? usage : ${NOTHING_USED}, why);`],
  ['llm/usage-events.ts', "if (json.type === 'message_start') return false;", ''],
  ['llm/fetch/sse-events.ts', 'if (start < chunk.length) this.#open.push(chunk.subarray(start));', ''],
  ['llm/fetch/answer-reader.ts', "if (contentType.includes('vnd.amazon.eventstream')) return new AwsStreamReader();", ''],
  ['llm/failure-facts.ts', "'__type', 'code', 'errorCode'", "'__type', 'errorCode'"],
  ['llm/fetch/answer-reader.ts', 'error: error ?? said.error', 'error'],
  ['llm/failure-rules.ts', 'if (facts.status === 0) yield* byTransport;', ''],
  ['llm/fetch/held-stream.ts', '    this.#over(() => {\n      this.#holder.left();\n    });\n    return this.#reader.cancel(reason);', '    return this.#reader.cancel(reason);'],
  ['llm/fetch/held-stream.ts', 'if (maxIdle !== Infinity) this.#watch(maxIdle);', ''],
  ['llm/fetch/held-stream.ts', "  dropped.register(held, () => {\n    hold.drop('');\n  });\n", ''],
  ['llm/fetch/held-stream.ts', 'this.#isReading ? 0 : performance.now()', 'performance.now()'],
  ['llm/stream-of.ts', '  signal.throwIfAborted();\n}', '}'],
  ['llm/retry-upstream.ts', 'isDelivered || ', ''],
  // SDKs
  [
    'llm/fetch/admitted-fetch.ts',
    '  return async (input, init, send) => {\n    const read = await readCall(input, init);\n    if (read === null) return',
    '  const seen = new Set<string>();\n  return async (input, init, send) => {\n    const read = await readCall(input, init);\n    const isSeen = seen.size === seen.add(JSON.stringify(read?.call.body)).size;\n    if (read === null || isSeen) return',
  ],
  ['llm/fetch/sdk-timeout.ts', 'seconds > 0 ? seconds * 1_000 * SHARE : Infinity', 'Infinity'],
  ['llm/fetch/turnstile.ts', '...(signal ? { signal } : {}),', ''],
  ['llm/fetch/refusal.ts', "    'x-should-retry': 'false',\n", ''],
  ['llm/fetch/admitted-fetch.ts', "if (options.onRefused === 'throw') throw error;", ''],
  ['llm/classify-failure.ts', 'facts.isRefusal || read(OUR_MARK) !== null', 'facts.isRefusal && read(OUR_MARK) !== null'],
  ['llm/fetch/admitted-fetch.ts', 'patience = () => Infinity }: Partial<Way>', 'patience = patienceOf }: Partial<Way>'],
  ['llm/adapters/ai-middleware.ts', 'isJson(usage[key]) ? usage[key][part] : usage[key]', 'inner(usage, key)[part]'],
  ['llm/failure-facts.ts', "  'lastError',\n", ''],
  ['llm/fetch/exchange.ts', '  const holder = holderOf(', "  passage.end({ kind: 'answered', usage: null });\n  const holder = holderOf("],
  ['llm/fetch/passage.ts', 'if (this.#entryOf(account) !== undefined) grant.charge(account, cost[budget]);', ''],
  ['llm/fetch/turnstile.ts', '...(signal ? { signal } : {}),', ''],
  ['llm/fetch/read-call.ts', 'input.clone().text()', 'input.text()'],
  ['llm/fetch/read-call.ts', 'jsonOf(text) ?? formOf(body)', 'jsonOf(text) ?? {}'],
  ['llm/fetch/read-call.ts', 'model: decoded(model)', 'model: decodeURIComponent(model)'],
  ['llm/fetch/read-call.ts', "(named === '' ? null : (path.split('/').at(-1) ?? ''))", "(path.split('/').at(-1) ?? '')"],
  ['llm/fetch/exchange.ts', "for (const key of ['url', 'redirected', 'type'] as const)", 'for (const key of [] as const)'],
  [
    'llm/retry-upstream.ts',
    "import { defer, retry, tap, throwError, timer, type MonoTypeOperatorFunction, type SchedulerLike } from 'rxjs';",
    "import { defer as cold, Observable, retry, tap, throwError, timer, type MonoTypeOperatorFunction, type SchedulerLike } from 'rxjs';\n" +
      'const defer = <T>(work: () => Observable<T>): Observable<T> => new Observable((subscriber) => { cold(work).subscribe({ next: (value) => { subscriber.next(value); } }); });',
  ],
  // Limiters
  ['accounts/token-bucket.ts', 'this.#move({ tokens: -amountOf(mine), requests: -mine.length }, at, 0);', ''],
  ['evaluator/attempt.ts', 'if (account.fits(amounts, reserved, at)) continue;', 'if (account.tryTake(amounts, reserved, at, waiter.ask)) continue;'],
  ['grant.ts', '  account.adjust(actual - before, at);\n', ''],
  ['accounts/token-bucket.ts', 'return fitsFrom(this.#minute, this.#stretch, asked, at);', 'return asked.tokens > this.capacity / 60 ? null : fitsFrom(this.#minute, this.#stretch, asked, at);'],
  ['desk.ts', 'if (until !== Infinity) {\n      ask.alarm ??=', 'if (until === -1) {\n      ask.alarm ??='],
  ['item.ts', 'else run.error(error);', 'else run.error(new Error(error.message));'],
  ['item.ts', "if (this.#ending?.kind !== 'E') this.#settle();", "if (this.#ending?.kind !== 'E') this.#settle(); else this.place = null;"],
  ['evaluator/attempt.ts', 'return short.map(({ account }) => account);', 'return short.slice(0, 1).map(({ account }) => account);'],
  ['llm/spend-cap.ts', 'if (reserved + this.#spent + this.#inFlight > this.#limit + SLACK)', 'if (this.#spent > this.#limit)'],
];

/** Both cores of a small machine. */
const AT_ONCE = 2;

interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
}

/** The row's test in `copy`, by its name alone. */
async function tried(copy: string, { title, file }: TrapRow): Promise<Report> {
  // Rows of recorded answers are tests there.
  const tests = file.endsWith('.test.ts') ? file : 'test/llm/classify-failure.test.ts';
  const output = join(copy, 'report.json');
  rmSync(output, { force: true });
  const name = title.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
  const args = ['node_modules/vitest/vitest.mjs', 'run', tests, '-t', name, '--retry=0', '--reporter=json', `--outputFile=${output}`];
  await new Promise<void>((ended) => {
    spawn('node', args, { cwd: copy, stdio: 'ignore' }).on('close', () => { ended(); });
  });
  return JSON.parse(readFileSync(output, 'utf8')) as Report;
}

/** Passes as it is, and fails without its handling. */
async function verdictOn(copy: string, row: TrapRow, [file, from, to]: Handling): Promise<string> {
  const path = join(copy, 'src', file);
  const source = readFileSync(path, 'utf8');
  if (!source.includes(from)) return `GONE      src/${file} has no line to take out: ${from}`;
  writeFileSync(path, source.replace(from, () => to));
  const without = await tried(copy, row);
  writeFileSync(path, source);
  if (without.numFailedTests === 0) return without.numPassedTests === 0 ? 'NOT RUN  ' : 'SURVIVED ';
  // One that fails either way shows nothing.
  const as = await tried(copy, row);
  return as.numFailedTests === 0 && as.numPassedTests > 0 ? 'found    ' : 'FAILS    ';
}

if (TRAPS.length !== HANDLINGS.length) throw new Error(`${TRAPS.length} traps, and ${HANDLINGS.length} handlings to take out`);
const { values, positionals } = parseArgs({ allowPositionals: true, options: { sample: { type: 'string' } } });
const step = values.sample === undefined ? 1 : Math.max(1, Math.floor(TRAPS.length / Number(values.sample)));
const first = new Date().getDate() % step;
const rows = HANDLINGS.flatMap((handling, index) => {
  const row = TRAPS[index];
  if (row === undefined) return [];
  const isAsked = positionals.length > 0 ? positionals.includes(String(row.at)) : index % step === first;
  return isAsked ? [{ row, handling }] : [];
});
const waiting = rows.values();
let survivors = 0;

async function work(): Promise<void> {
  const copy = mkdtempSync(join(tmpdir(), 'without-'));
  try {
    for (const part of ['src', 'test', 'examples', 'package.json', 'tsconfig.json', 'vitest.config.ts']) cpSync(part, join(copy, part), { recursive: true });
    symlinkSync(resolve('node_modules'), join(copy, 'node_modules'));
    for (const { row, handling } of waiting) {
      const verdict = await verdictOn(copy, row, handling);
      console.log(`${verdict} line ${row.at}: ${row.title}`);
      if (!verdict.startsWith('found')) survivors += 1;
    }
  } finally {
    rmSync(copy, { recursive: true });
  }
}

await Promise.all(Array.from({ length: AT_ONCE }, work));
console.log(`${rows.length} handlings taken out, ${survivors} not noticed`);
if (survivors > 0) process.exitCode = 1;
