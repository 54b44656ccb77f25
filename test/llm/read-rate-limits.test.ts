/** What is read of rate-limit headers: every provider's spelling, and every trap in it. */
import { describe, expect, it } from 'vitest';
import { readRateLimits, type HeadersLike, type Meter, type RateLimit, type ReadOptions } from '../../src/llm/index.js';

const NOW = Date.parse('2026-11-20T12:00:00Z');
const SECOND = 1_000;
const MINUTE = 60_000;
const DAY = 86_400_000;

const read = (headers: HeadersLike | null, options: ReadOptions = {}): ReturnType<typeof readRateLimits> =>
  readRateLimits(headers, { wallNow: () => NOW, ...options });

/** The ordinary limit of that meter. */
const limitOf = (meter: Meter, headers: HeadersLike, options?: ReadOptions): RateLimit | undefined =>
  read(headers, options).limits.find((limit) => limit.meter === meter && limit.pool === null);

const openai = (reset: string, remaining = '0', limit = '60'): Record<string, string> => ({
  'x-ratelimit-limit-requests': limit,
  'x-ratelimit-remaining-requests': remaining,
  'x-ratelimit-reset-requests': reset,
});

describe('a reset', () => {
  it.each([
    ['20ms', 20],
    ['12ms', 12],
    ['1s', SECOND],
    ['6m0s', 6 * MINUTE],
    ['16m17.764s', 16 * MINUTE + 17_764],
    ['2m59.56s', 2 * MINUTE + 59_560],
    ['1h2m3s', 3_723 * SECOND],
    ['1d2h', 26 * 3_600 * SECOND],
    ['750us', 0.75],
    ['750µs', 0.75],
    ['750μs', 0.75],
    ['0s', 0],
  ])('is a Go duration: %s is %d ms', (text, ms) => {
    expect(limitOf('requests', openai(text))?.resetIn).toBeCloseTo(ms, 6);
  });

  it.each([
    ['40', 40 * SECOND],
    ['0.5', 500],
    [String(NOW / SECOND + 30), 30 * SECOND],
    [String(NOW + 1_500), 1_500],
    ['2026-11-20T12:00:59Z', 59 * SECOND],
    ['2026-11-20T13:00:59.5+01:00', 59_500],
    ['Fri, 20 Nov 2026 12:01:00 GMT', MINUTE],
    ['Friday, 20-Nov-26 12:01:00 GMT', MINUTE],
  ])('is seconds, an epoch in either unit, or a date: %s is %d ms', (text, ms) => {
    expect(limitOf('requests', openai(text))?.resetIn).toBe(ms);
  });

  it.each(['-1', '', 'soon', '20 ms', '1m?', '5x', '99999d', '400h9999h', '2026-99-99T00:00:00Z', '4102444800'])(
    'that is %j is unknown, and the limit stands',
    (text) => {
      expect(limitOf('requests', openai(text))).toMatchObject({ limit: 60, remaining: 0, resetIn: null });
    },
  );

  it('that has passed is now', () => {
    expect(limitOf('requests', openai('2026-11-20T11:59:00Z'))?.resetIn).toBe(0);
    expect(limitOf('requests', openai(String(NOW - 5_000)))?.resetIn).toBe(0);
  });

  it('counts from the clock of the server, where it tells it', () => {
    const headers = { ...openai('2026-11-20T11:00:30Z'), date: 'Fri, 20 Nov 2026 11:00:00 GMT' };
    expect(limitOf('requests', headers)?.resetIn).toBe(30 * SECOND);
    expect(limitOf('requests', { ...headers, date: 'yesterday' })?.resetIn).toBe(0);
  });

  it('on the wall clock needs none given', () => {
    const headers = openai(new Date(Date.now() + DAY).toISOString());
    expect(readRateLimits(headers).limits[0]?.resetIn).toBeGreaterThan(DAY / 2);
  });
});

describe('a figure', () => {
  it.each(['-1', '0', '', ' ', '2147483647', '4294967295', '9223372036854775807', 'unlimited', '1e3', '10.5'])(
    'of %j is no limit',
    (text) => {
      expect(limitOf('requests', openai('1s', '5', text))?.limit ?? null).toBeNull();
    },
  );

  it('of a limit that is not known leaves nothing to say about what is left', () => {
    expect(read(openai('1s', '0', '0')).limits).toEqual([]);
    expect(read(openai('0', '-1', '-1'), { provider: 'azure' }).limits).toEqual([]);
  });

  it('of what is left counts alone, where no limit is sent at all', () => {
    expect(read({ 'x-ratelimit-remaining-tokens': '12' }, { provider: 'openai' }).limits).toMatchObject([
      { meter: 'tokens', limit: null, remaining: 12 },
    ]);
  });

  it('of what is left is unknown where it is negative, and the limit stands', () => {
    expect(limitOf('requests', openai('1s', '-1'))).toMatchObject({ limit: 60, remaining: null });
  });
});

describe('retry-after', () => {
  it.each<[string, Record<string, string>, number | null]>([
    ['seconds', { 'retry-after': '7' }, 7 * SECOND],
    ['a fraction of a second', { 'retry-after': '0.25' }, 250],
    ['an HTTP date', { 'retry-after': 'Fri, 20 Nov 2026 12:00:30 GMT' }, 30 * SECOND],
    ['a date that has passed', { 'retry-after': 'Fri, 20 Nov 2026 11:00:30 GMT' }, null],
    ['zero', { 'retry-after': '0' }, null],
    ['negative', { 'retry-after': '-1' }, null],
    ['a word', { 'retry-after': 'later' }, null],
    ['milliseconds, which win', { 'retry-after-ms': '1500', 'retry-after': '2' }, 1_500],
    ['milliseconds of Azure', { 'x-ms-retry-after-ms': '250', 'retry-after': '1' }, 250],
    ['milliseconds that say nothing, beside seconds', { 'retry-after-ms': '0', 'retry-after': '2' }, 2 * SECOND],
    ['a day, of Azure', { 'retry-after': '86400' }, DAY],
    ['absent', {}, null],
  ])('is %s', (_what, headers, ms) => {
    expect(read(headers).retryAfter).toBe(ms);
  });
});

describe('OpenAI', () => {
  const headers = {
    'x-ratelimit-limit-requests': '500',
    'x-ratelimit-remaining-requests': '499',
    'x-ratelimit-reset-requests': '120ms',
    'x-ratelimit-limit-tokens': '200000',
    'x-ratelimit-remaining-tokens': '150000',
    'x-ratelimit-reset-tokens': '15s',
    'x-ratelimit-limit-project-tokens': '100000',
    'x-ratelimit-remaining-project-tokens': '99000',
    'x-ratelimit-reset-project-tokens': '600ms',
  };

  it('counts requests and tokens by the minute, and a project beside them', () => {
    expect(read(headers)).toEqual({
      provider: 'openai',
      limits: [
        { meter: 'requests', period: MINUTE, limit: 500, remaining: 499, resetIn: 120, grain: 1, pool: null },
        { meter: 'tokens', period: MINUTE, limit: 200_000, remaining: 150_000, resetIn: 15 * SECOND, grain: 1, pool: null },
        { meter: 'tokens', period: MINUTE, limit: 100_000, remaining: 99_000, resetIn: 600, grain: 1, pool: 'project' },
      ],
      retryAfter: null,
      cost: null,
    });
  });

  it('keeps the legacy limit that is based on usage apart, as nobody else’s tokens', () => {
    const legacy = { 'x-ratelimit-limit-tokens_usage_based': '40000', 'x-ratelimit-remaining-tokens_usage_based': '39000', 'x-ratelimit-reset-tokens_usage_based': '1.5s' };
    expect(read({ ...headers, ...legacy }).limits.at(-1)).toEqual({ meter: 'tokens', period: MINUTE, limit: 40_000, remaining: 39_000, resetIn: 1_500, grain: 1, pool: 'usage based' });
    expect(limitOf('tokens', { ...headers, ...legacy })?.limit).toBe(200_000);
  });

  it('counts by the day what takes longer than any minute to come back, under the same name', () => {
    // 10,000 a day, 100 used: full again in 14 min 24 s.
    expect(limitOf('requests', openai('14m24s', '9900', '10000'))?.period).toBe(DAY);
    expect(limitOf('requests', openai('8.64s', '9999', '10000'))?.period).toBe(DAY);
    expect(limitOf('requests', openai('6ms', '9999', '10000'))?.period).toBe(MINUTE);
  });
});

describe('Azure', () => {
  it('sends names of OpenAI with marks of its own', () => {
    const headers = { ...openai('10'), 'apim-request-id': 'a' };
    expect(read(headers)).toMatchObject({ provider: 'azure', limits: [{ meter: 'requests', resetIn: 10 * SECOND }] });
  });
});

describe('Anthropic', () => {
  const group = (unit: string, limit: string, remaining: string): Record<string, string> => ({
    [`anthropic-${unit}-limit`]: limit,
    [`anthropic-${unit}-remaining`]: remaining,
    [`anthropic-${unit}-reset`]: '2026-11-20T12:00:59Z',
  });

  it('counts input and output apart, rounded to thousands, and priority beside them', () => {
    const headers = {
      ...group('ratelimit-requests', '50', '49'),
      ...group('ratelimit-tokens', '38000', '38000'),
      ...group('ratelimit-input-tokens', '30000', '12000'),
      ...group('ratelimit-output-tokens', '8000', '8000'),
      ...group('priority-input-tokens', '10000', '9000'),
    };
    const reset = 59 * SECOND;
    expect(read(headers)).toMatchObject({
      provider: 'anthropic',
      limits: [
        { meter: 'requests', limit: 50, remaining: 49, resetIn: reset, grain: 1, pool: null },
        { meter: 'tokens', limit: 38_000, grain: 1_000 },
        { meter: 'input-tokens', limit: 30_000, remaining: 12_000, grain: 1_000, pool: null },
        { meter: 'output-tokens', limit: 8_000, grain: 1_000, pool: null },
        { meter: 'input-tokens', limit: 10_000, grain: 1_000, pool: 'priority' },
      ],
    });
  });
});

describe('others', () => {
  it('Groq counts requests by the day and tokens by the minute, under the names of OpenAI', () => {
    const headers = {
      ...openai('2m59.56s', '14370', '14400'),
      'x-ratelimit-limit-tokens': '18000',
      'x-ratelimit-remaining-tokens': '17997',
      'x-ratelimit-reset-tokens': '7.66s',
      'x-groq-region': 'fra',
    };
    expect(read(headers)).toMatchObject({
      provider: 'groq',
      limits: [
        { meter: 'requests', period: DAY, limit: 14_400, resetIn: 179_560 },
        { meter: 'tokens', period: MINUTE, limit: 18_000, resetIn: 7_660 },
      ],
    });
  });

  it('Mistral counts tokens by the minute and by the month, and tells what a call cost', () => {
    const headers = {
      'x-ratelimitbysize-limit-minute': '500000',
      'x-ratelimitbysize-remaining-minute': '499900',
      'x-ratelimitbysize-limit-month': '1000000000',
      'x-ratelimitbysize-remaining-month': '999000000',
      'ratelimitbysize-limit': '500000',
      'ratelimitbysize-reset': '40',
      'ratelimitbysize-query-cost': '32015',
    };
    expect(read(headers)).toMatchObject({
      provider: 'mistral',
      cost: 32_015,
      limits: [
        { meter: 'tokens', period: MINUTE, limit: 500_000, remaining: 499_900, resetIn: 40 * SECOND },
        { meter: 'tokens', period: 30 * DAY, limit: 1e9, remaining: 999e6, resetIn: null },
      ],
    });
  });

  it('Together counts by the second', () => {
    const headers = {
      'x-ratelimit-limit': '10',
      'x-ratelimit-remaining': '9',
      'x-ratelimit-reset': '1',
      'x-tokenlimit-limit': '3000',
      'x-tokenlimit-remaining': '2500',
    };
    expect(read(headers)).toMatchObject({
      provider: 'together',
      limits: [
        { meter: 'requests', period: SECOND, limit: 10, resetIn: SECOND },
        { meter: 'tokens', period: SECOND, limit: 3_000, remaining: 2_500 },
      ],
    });
  });

  it('OpenRouter names its reset as an epoch in milliseconds', () => {
    const headers = { 'X-RateLimit-Limit': '20', 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': String(NOW + 9_000) };
    expect(read(headers)).toMatchObject({ provider: 'openrouter', limits: [{ limit: 20, remaining: 0, resetIn: 9_000 }] });
  });

  it('Cerebras names the period of each', () => {
    const headers = {
      'x-ratelimit-limit-requests-day': '14400',
      'x-ratelimit-remaining-requests-day': '14399',
      'x-ratelimit-reset-requests-day': '33011.5',
      'x-ratelimit-limit-tokens-minute': '60000',
      'x-ratelimit-remaining-tokens-minute': '59000',
      'x-ratelimit-reset-tokens-minute': '11.5',
    };
    expect(read(headers)).toMatchObject({
      provider: 'cerebras',
      limits: [
        { meter: 'requests', period: DAY, resetIn: 33_011_500 },
        { meter: 'tokens', period: MINUTE, resetIn: 11_500 },
      ],
    });
  });

  it('Gemini and Bedrock send none', () => {
    expect(read({ 'x-amzn-requestid': 'a' })).toMatchObject({ provider: 'bedrock', limits: [] });
    expect(read({ server: 'scaffolding' }, { provider: 'gemini' })).toMatchObject({ provider: 'gemini', limits: [] });
  });
});

describe('the drafts of the IETF', () => {
  const ten = { meter: 'requests', limit: 10, remaining: 7, resetIn: 30 * SECOND, period: MINUTE };

  it.each<[string, Record<string, string>]>([
    ['three headers, and a policy', { 'ratelimit-limit': '10', 'ratelimit-remaining': '7', 'ratelimit-reset': '30', 'ratelimit-policy': '10;w=60' }],
    ['one dictionary', { ratelimit: 'limit=10, remaining=7, reset=30', 'ratelimit-policy': '10;w=60' }],
    ['named policies', { ratelimit: '"default";r=7;t=30', 'ratelimit-policy': '"default";q=10;w=60' }],
    ['named policies with parameters that are strings', { ratelimit: '"default";r=7;t=30;pk=":a;b,c=:"', 'ratelimit-policy': '"default";q=10;w=60;qu="requests, \\"all\\""' }],
  ])('in the shape of %s', (_shape, headers) => {
    expect(read(headers)).toMatchObject({ provider: 'ietf', limits: [ten] });
  });

  it('name several policies at once', () => {
    const headers = { ratelimit: '"burst";r=0;t=1, "daily";r=900;t=3600', 'ratelimit-policy': '"burst";q=2;w=1,"daily";q=1000;w=86400' };
    expect(read(headers).limits).toMatchObject([
      { limit: 2, remaining: 0, resetIn: SECOND, period: SECOND },
      { limit: 1_000, remaining: 900, resetIn: 3_600 * SECOND, period: DAY },
    ]);
  });

  it.each<[string, Record<string, string>, object[]]>([
    ['what is left, without a policy', { ratelimit: '"default";r=7;t=30' }, [{ limit: null, remaining: 7, period: null }]],
    ['a limit without a window', { 'ratelimit-limit': '10', 'ratelimit-remaining': '7' }, [{ limit: 10, remaining: 7, period: null, resetIn: null }]],
    ['nothing', { ratelimit: '', 'ratelimit-policy': ';' }, []],
    ['a limit of none', { 'ratelimit-limit': '-1', 'ratelimit-remaining': '-1' }, []],
  ])('say %s', (_what, headers, limits) => {
    expect(read(headers).limits).toMatchObject(limits);
    expect(read(headers).limits).toHaveLength(limits.length);
  });

  it('are read where a known provider sends none of its own', () => {
    expect(read({ 'x-amzn-requestid': 'a', ratelimit: '"default";r=7;t=30' })).toMatchObject({
      provider: 'bedrock',
      limits: [{ remaining: 7 }],
    });
  });
});

describe('headers', () => {
  const expected = [{ meter: 'requests', limit: 60, remaining: 0, resetIn: SECOND }];

  it.each<[string, HeadersLike]>([
    ['Headers', new Headers(openai('1s'))],
    ['a record', openai('1s')],
    ['a record in capitals', { 'X-RateLimit-Limit-Requests': '60', 'X-RateLimit-Remaining-Requests': '0', 'X-RateLimit-Reset-Requests': '1s' }],
    ['a record of lists and numbers', { 'x-ratelimit-limit-requests': 60, 'x-ratelimit-remaining-requests': ['0'], 'x-ratelimit-reset-requests': '1s' }],
    ['pairs', Object.entries(openai(' 1s '))],
    ['a Map', new Map(Object.entries(openai('1s')))],
  ])('are %s', (_what, headers) => {
    expect(read(headers).limits).toMatchObject(expected);
  });

  it.each([null, undefined, {}])('that are %j say nothing', (headers) => {
    expect(readRateLimits(headers)).toEqual({ provider: null, limits: [], retryAfter: null, cost: null });
  });

  it('are of whom the caller says', () => {
    expect(limitOf('requests', openai('1s'), { provider: 'groq' })?.period).toBe(DAY);
    expect(read(openai('1s'), { provider: 'ietf' }).provider).toBeNull();
  });
});
