/** How `npm start` reads its options. */
import { describe, expect, it } from 'vitest';
import { UsageError, readOptions } from '../../examples/start/options.js';

describe('the options of npm start', () => {
  it('has a value for everything', () => {
    expect(readOptions([], {})).toEqual({
      calls: 200,
      tokensPerMinute: 600_000,
      requestsPerMinute: 180,
      concurrency: 16,
      headroom: 0.05,
      seed: 1,
      model: 'gpt-5',
      compare: ['bare', 'p-limit'],
      provider: 'openai',
      remote: null,
    });
  });

  it('asks Anthropic for what its way of counting allows', () => {
    const argv = ['--provider', 'anthropic'];
    expect(readOptions(argv, {})).toMatchObject({ provider: 'anthropic', tokensPerMinute: 100_000, model: 'claude-sonnet-5', remote: null });
    const remote = { baseUrl: 'https://example.test', apiKey: 'k' };
    const asked = [...argv, '--base-url', remote.baseUrl];
    expect(readOptions(asked, { ANTHROPIC_API_KEY: 'k' })).toMatchObject({ calls: 20, remote });
    expect(() => readOptions(asked, { OPENAI_API_KEY: 'k' })).toThrow(/^ANTHROPIC_API_KEY is not set/);
  });

  it('takes every one of them', () => {
    const argv = '--calls 9 --tpm=1_000 --rpm 7 --concurrency 3 --headroom .1 --seed 0 --model tiny'.split(' ');
    expect(readOptions(argv, {})).toMatchObject({
      calls: 9,
      tokensPerMinute: 1_000,
      requestsPerMinute: 7,
      concurrency: 3,
      headroom: 0.1,
      seed: 0,
      model: 'tiny',
    });
  });

  it('asks a real provider for less, and without admission only when told to', () => {
    const argv = ['--base-url', 'https://example.test/v1'];
    const env = { OPENAI_API_KEY: 'k' };
    const remote = { baseUrl: 'https://example.test/v1', apiKey: 'k' };
    expect(readOptions(argv, env)).toMatchObject({ calls: 20, compare: [], remote });
    expect(readOptions([...argv, '--compare', 'p-limit,bare'], env)).toMatchObject({ compare: ['p-limit', 'bare'] });
    expect(readOptions([...argv, '--compare', 'p-queue,bottleneck'], env)).toMatchObject({ compare: ['p-queue', 'bottleneck'] });
    expect(readOptions(['--compare', 'none'], {})).toMatchObject({ compare: [] });
  });

  it('answers help before it looks at anything else', () => {
    expect(readOptions(['--help', '--calls', 'many'], {})).toBe('help');
  });

  it.each([
    [['--calls', 'many'], '--calls is "many"; give a whole number from 1 to 10000, for example --calls 200'],
    [['--calls', '0'], '--calls is "0"; give a whole number from 1 to 10000, for example --calls 200'],
    [['--calls', '10001'], '--calls is "10001"; give a whole number from 1 to 10000, for example --calls 200'],
    [['--tpm', '1e6'], '--tpm is "1e6"; give a whole number from 1 to 1000000000, for example --tpm 600000'],
    [['--rpm', '2.5'], '--rpm is "2.5"; give a whole number from 1 to 1000000000, for example --rpm 180'],
    [['--concurrency='], '--concurrency is ""; give a whole number from 1 to 1000000000, for example --concurrency 16'],
    [['--seed=-1'], '--seed is "-1"; give a whole number from 0 to 1000000000, for example --seed 1'],
    [['--headroom', '2%'], '--headroom is "2%"; give a share from 0 to 0.9, for example --headroom 0.05 for 5 %'],
    [['--headroom', '1'], '--headroom is "1"; give a share from 0 to 0.9, for example --headroom 0.05 for 5 %'],
    [
      ['--base-url', 'api.openai.com'],
      '--base-url is "api.openai.com"; give a whole address, for example --base-url https://api.openai.com/v1',
    ],
    [
      ['--base-url', 'https://example.test/v1'],
      'OPENAI_API_KEY is not set, and --base-url needs it; export the key, or leave --base-url out',
    ],
    [['--compare', 'p-queue,x'], '--compare is "p-queue,x"; give some of bare, p-limit, p-queue, bottleneck, with commas between, or none'],
    [['--provider', 'groq'], '--provider is "groq"; give openai or anthropic'],
    [['--call', '3'], "Unknown option '--call'. The options are listed by: npm start -- --help"],
  ])('refuses %j with the value and the remedy', (argv, message) => {
    expect(() => readOptions(argv, {})).toThrow(new UsageError(message));
  });

  it('refuses a stray word', () => {
    expect(() => readOptions(['20'], {})).toThrow(/Unexpected argument '20'/);
  });

  it('notices an option that npm kept to itself', () => {
    const message = 'npm kept --base-url to itself; write npm start -- --base-url …';
    expect(() => readOptions([], { npm_config_base_url: 'http://x' })).toThrow(new UsageError(message));
  });
});
