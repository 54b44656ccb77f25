/** `npm start` from end to end on loopback: counts, order and outcomes. */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { CountingGate, TokenBucket, createAdmission } from 'rx-admission';
import { describe, expect, it } from 'vitest';
import { inputOf } from '../../examples/provider/anthropic-door.js';
import { makeCalls, type Call } from '../../examples/provider/calls.js';
import { burst } from '../../examples/start/burst.js';
import { Board, chatThrough } from '../../examples/start/chat.js';
import type { Ended } from '../../examples/start/chat.js';
import { readOptions } from '../../examples/start/options.js';
import type { Options } from '../../examples/start/options.js';
import { openProvider } from '../../examples/start/provider.js';
import { Quota, reservationOf } from '../../examples/provider/quota.js';
import { openaiDoor } from '../../examples/provider/openai-door.js';
import { startQuotaProxy } from '../../examples/provider/quota-proxy.js';
import { startModelServer } from '../../examples/provider/server.js';

const PATIENCE = 60_000;

/** What became of the calls, and what the provider saw of them. */
async function through(options: Options, calls: readonly Call[], headroom: number) {
  const { model: name, concurrency: capacity } = options;
  const provider = await openProvider(options);
  const accounts = { quota: new TokenBucket({ name, ...options, headroom }), streams: new CountingGate({ name: 'streams', capacity }) };
  const ended: Ended[] = [];
  const chat = chatThrough(provider.ask({ admission: createAdmission(), accounts }), new Board());
  await burst(calls, chat).forEach((end) => ended.push(end));
  await provider.close();
  return { books: provider.books, ended, streams: accounts.streams };
}

describe.each(['openai', 'anthropic'] as const)('a small burst through %s', (name) => {
  const cost = { openai: reservationOf, anthropic: inputOf }[name];
  const optionsOf = (...argv: string[]): Options => readOptions(['--provider', name, ...argv], {}) as Options;

  it('is sent in order, all of it is let in, and never more at once than allowed', async () => {
    const calls = makeCalls(20, 7, cost);
    const { books, ended, streams } = await through(optionsOf('--concurrency', '4', '--seed', '7'), calls, 0.05);
    expect([...ended].sort((a, b) => Number(a.sentAt) - Number(b.sentAt)).map(({ call }) => call.id)).toEqual(calls.map(({ id }) => id));
    expect(ended.map((end) => end.outcome)).toEqual(calls.map(() => 'completed'));
    expect(books?.log.map((arrival) => arrival.refused)).toEqual(calls.map(() => null));
    expect(books?.log.map(({ tokens }) => tokens).sort()).toEqual(calls.map(({ tokens }) => tokens).sort());
    expect([books?.peak, streams.inUse()]).toEqual([4, 0]);
  });

  it('fails the one call that no minute could hold, and completes the others', async () => {
    const [small, , large] = makeCalls(3, 7, cost).sort((a, b) => a.tokens - b.tokens);
    if (small === undefined || large === undefined) throw new Error('three calls were made');
    const { ended } = await through(optionsOf('--tpm', String(large.tokens - 1)), [large, small], 0);
    expect(ended.map((end) => [end.call, end.outcome])).toEqual([
      [large, 'failed'],
      [small, 'completed'],
    ]);
    expect(ended[0]?.detail).toContain(String(large.tokens));
  });
});

describe('npm start', () => {
  it('drowns bare and behind p-limit, keeps its promise admitted, and prints plain lines where there is no terminal', async () => {
    const { code, stdout, stderr } = await start('--calls 30 --tpm 110000 --rpm 60 --concurrency 8'.split(' '));
    expect(stderr).toBe('');
    expect(stdout).not.toContain('\x1b');
    const some = expect.stringMatching(/^\d+ of 30$/) as string;
    expect(cells(stdout, '')).toEqual(['bare', 'p-limit', 'admitted']);
    expect(cells(stdout, 'completed')).toEqual([some, some, '30 of 30']);
    const [bare, limited, admitted] = cells(stdout, '429s').map(Number);
    expect(bare).toBeGreaterThan(0);
    expect(limited).toBeGreaterThan(0);
    expect(admitted).toBe(0);
    // It keeps to the calls at once, and the minute is what it does not know of.
    expect(cells(stdout, '  for concurrency')[1]).toBe('0');
    expect(stdout).toMatch(/^Headroom 5\.0 %: covers calls that take up to 3\.2 s longer than others to arrive\.$/m);
    expect(stdout).toMatch(/^Kept: 30 of 30 completed, 0 429s[,;]/m);
    expect(code).toBe(0);
  }, PATIENCE);

  it('keeps its promise at Anthropic, whose 429s are told as such', async () => {
    const { code, stdout, stderr } = await start('--provider anthropic --calls 30 --rpm 28 --concurrency 8 --compare bare'.split(' '));
    expect(stderr).toBe('');
    expect(cells(stdout, '')).toEqual(['bare', 'admitted']);
    expect(cells(stdout, 'completed')[1]).toBe('30 of 30');
    const [bare, admitted] = cells(stdout, '429s').map(Number);
    expect(bare).toBeGreaterThan(0);
    expect(admitted).toBe(0);
    expect(code).toBe(0);
  }, PATIENCE);

  it('asks another provider when told where, without the bare run', async () => {
    const { code, stdout } = await withProvider(4, '--calls 8 --concurrency 4');
    expect(cells(stdout, '')).toEqual(['admitted']);
    expect(cells(stdout, 'completed')).toEqual(['8 of 8']);
    expect(code).toBe(0);
  }, PATIENCE);

  it('says so and fails when the promise is broken', async () => {
    const { code, stdout } = await withProvider(1, '--calls 8 --concurrency 8');
    expect(stdout).toMatch(/^Broken: \d of 8 completed, \d 429s\.$/m);
    expect(code).toBe(1);
  }, PATIENCE);

  it('ends cleanly on Ctrl-C', async () => {
    const { code, stdout, stderr } = await start(['--calls', '150'], /^admitted/m);
    expect(stdout).toMatch(/Interrupted: what waited has left the line, what was running has ended\.\n$/);
    expect(stderr).toBe('');
    expect(code).toBe(130);
  }, PATIENCE);

  it('answers a bad value with its name and the remedy', async () => {
    expect(await start(['--tpm', 'lots'])).toEqual({
      code: 2,
      stdout: '',
      stderr: '--tpm is "lots"; give a whole number from 1 to 1000000000, for example --tpm 600000\n',
    });
  }, PATIENCE);

  it('explains itself', async () => {
    const { code, stdout } = await start(['--help']);
    expect(stdout).toMatch(/^npm start -- \[options\]\n/);
    expect(code).toBe(0);
  }, PATIENCE);
});

interface Ending {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs it as `npm start` does; presses Ctrl-C once the output has what `interruptAt` looks for. */
function start(argv: readonly string[], interruptAt?: RegExp): Promise<Ending> {
  const main = fileURLToPath(new URL('../../examples/start/main.ts', import.meta.url));
  const env = { PATH: process.env.PATH, OPENAI_API_KEY: 'none' };
  const child = spawn(process.execPath, ['--import', 'tsx', main, ...argv], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let [stdout, stderr, interrupted] = ['', '', false];
  child.stderr.on('data', (text: Buffer) => (stderr += text.toString()));
  child.stdout.on('data', (text: Buffer) => {
    stdout += text.toString();
    if (interrupted || !interruptAt?.test(stdout)) return;
    interrupted = true;
    child.kill('SIGINT');
  });
  return new Promise((resolve) => child.once('close', (code) => { resolve({ code, stdout, stderr }); }));
}

/** The cells of one row of the table. */
function cells(stdout: string, label: string): string[] {
  const row = stdout.split('\n').find((line) => new RegExp(`^  ${label.padEnd(22)} `).test(line));
  return row?.slice(24).trim().split(/ {2,}/) ?? [];
}

/** Runs it against a provider of the test's own. */
async function withProvider(concurrency: number, options: string): Promise<Ending> {
  const model = await startModelServer(1);
  const quota = new Quota({ tokensPerMinute: 600_000, requestsPerMinute: 180, concurrency });
  const proxy = await startQuotaProxy({ upstream: model.url, door: openaiDoor(quota) });
  try {
    return await start(['--base-url', `${proxy.url}/v1`, ...options.split(' ')]);
  } finally {
    await proxy.close();
    await model.close();
  }
}
