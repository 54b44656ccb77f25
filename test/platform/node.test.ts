/** What the core asks of Node: the old space and its limit, a collection, the asynchronous context. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { Session } from 'node:inspector';
import { setTimeout as sleep } from 'node:timers/promises';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { MemoryGate } from 'rx-admission';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { currentContext, defaultHeap } from '../../src/platform/node.js';
import { Children, type ChildOptions } from './child.js';

const MIB = 1_048_576;

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

describe('the limit of the heap', () => {
  const plain = new URL('./old-space-limit.ts', import.meta.url);
  const inWorker = new URL('./limit-in-a-worker.ts', import.meta.url);
  let children: Children;
  beforeAll(async () => {
    children = await Children.of(plain, inWorker);
  });
  afterAll(() => children.remove());

  const limitOf = async (options: ChildOptions, script = plain): Promise<number> => {
    const { code, lines, errors } = await children.run(script, options);
    if (code !== 0) throw new Error(errors);
    return Number(lines[0]);
  };

  it.each<[string, number, ChildOptions]>([
    ['the old space that the command line states', 100, { flags: ['--max-old-space-size=100'] }],
    ['the last of several, as V8 takes it', 90, { flags: ['--max-old-space-size=100', '--max_old_space_size=90'] }],
    ['the one of NODE_OPTIONS', 110, { nodeOptions: '--no-warnings --max-old-space-size=110' }],
    [
      'that of the command line before NODE_OPTIONS',
      80,
      { flags: ['--max-old-space-size=80'], nodeOptions: '--max-old-space-size=110' },
    ],
  ])('is %s', async (_what, limit, options) => {
    expect(await limitOf(options)).toBe(limit);
  });

  it('is that of a worker’s own in a worker', async () => {
    expect(await limitOf({ flags: ['--max-old-space-size=100'] }, inWorker)).toBe(64);
  });

  it('leaves the young generation out where no flag states the old space, whatever its size', async () => {
    const [usual, small] = await Promise.all([limitOf({}), limitOf({ flags: ['--max-semi-space-size=2'] })]);
    expect(usual).toBe(small);
  });
});

describe('the limit of this very process', () => {
  const limit = (): number => defaultHeap().read().max / MIB;
  const { execArgv } = process;

  afterEach(() => {
    process.execArgv = execArgv;
  });

  const whole = getHeapStatistics().heap_size_limit / MIB;

  it.each([
    [['--max-old-space-size=100', '--max-old-space-size=120'], '', 120],
    [[], '--max_old_space_size=110', 110],
    [['--max-semi-space-size=8'], '', whole - 24],
    [[], '--max-semi-space-size=4', whole - 12],
    // A young generation can be no larger than the rest.
    [['--max-semi-space-size=99999'], '', whole / 2],
    [['--max-old-space-size=0', '--max-semi-space-size=1'], '', whole - 3],
  ])('with %j and NODE_OPTIONS=%j is %d MiB', (flags, nodeOptions, expected) => {
    process.execArgv = flags;
    vi.stubEnv('NODE_OPTIONS', nodeOptions);
    expect(limit()).toBeCloseTo(expected, 6);
  });

  it.each([
    ['11.3.244.8', 16],
    ['12.4.254.21', 16],
    ['13.6.233.17', 64],
    ['14.1.146.11', 64],
    ['14.6.202.34', 32],
    ['15.0.1.2', 32],
  ])('knows the semispace of V8 %s to be %d MiB', (v8, semiSpace) => {
    process.execArgv = [];
    vi.stubEnv('NODE_OPTIONS', '');
    vi.spyOn(process, 'versions', 'get').mockReturnValue({ ...process.versions, v8 });
    expect(limit()).toBeCloseTo(whole - 3 * semiSpace, 6);
  });
});

describe('a reading', () => {
  /** Waits until something is so; the test's own time limit ends it. */
  const until = async (isSo: () => boolean): Promise<void> => {
    while (!isSo()) await sleep(1);
  };
  const garbage = (mib: number): number[][] => Array.from({ length: mib }, () => Array<number>(131_072).fill(0.5));

  it('is what is used now, of the old space', () => {
    const { used, max } = defaultHeap().read();
    expect(used).toBeGreaterThan(MIB);
    expect(used).toBeLessThan(max);
  });

  it('is what the last major collection left, for two seconds and while it is watched', async () => {
    const heap = defaultHeap();
    const stop = heap.watch?.();
    let hoard = garbage(16);
    await heap.collect?.();
    // The observer hears of a collection a little later.
    await until(() => {
      hoard = garbage(16);
      return heap.read().used < getHeapStatistics().used_heap_size - 8 * MIB;
    });
    expect(hoard).toHaveLength(16);
    const now = performance.now();
    const clock = vi.spyOn(performance, 'now');
    const rawAfter = (ms: number): boolean => {
      clock.mockReturnValue(now + ms);
      const used = getHeapStatistics().used_heap_size;
      return Math.abs(heap.read().used - used) < MIB;
    };
    expect([rawAfter(0), rawAfter(10_000)]).toEqual([false, true]);
    stop?.();
  });

  it.each(['by the inspector', 'by the gc that is exposed'])(
    'falls once a collection that was asked for is over, %s',
    async (how) => {
      const heap = defaultHeap();
      let hoard: number[][] = [];
      const filled = (): number => {
        hoard = garbage(24);
        return heap.read().used;
      };
      const global = globalThis as { gc?: (() => void) | undefined };
      const { gc } = global;
      if (how === 'by the inspector') delete global.gc;
      else setFlagsFromString('--expose-gc');
      if (how !== 'by the inspector') global.gc = runInNewContext('gc') as () => void;
      try {
        const sessions = vi.spyOn(Session.prototype, 'connect');
        const ends = vi.spyOn(Session.prototype, 'disconnect');
        const before = filled();
        hoard.length = 0;
        const over = heap.collect?.();
        expect(over instanceof Promise).toBe(how === 'by the inspector');
        await over;
        expect(before - heap.read().used).toBeGreaterThan(20 * MIB);
        // No session is left open: a debugger would find it there.
        expect(ends).toHaveBeenCalledTimes(sessions.mock.calls.length);
      } finally {
        if (gc) global.gc = gc;
        else delete global.gc;
      }
    },
  );

  it('says so when the inspector cannot collect', async () => {
    vi.spyOn(Session.prototype, 'post').mockImplementation(((_method: string, answer: (error: Error) => void) => {
      answer(new Error('no profiler'));
    }) as Session['post']);
    await expect(defaultHeap().collect?.()).rejects.toThrow('no profiler');
  });
});

describe('the gate of this process', () => {
  it('watches collections from the first line it is given to the last', () => {
    const starts: string[] = [];
    const observe = vi.spyOn(PerformanceObserver.prototype, 'observe').mockImplementation(() => {
      starts.push('observe');
    });
    const disconnect = vi.spyOn(PerformanceObserver.prototype, 'disconnect').mockImplementation(() => {
      starts.push('disconnect');
    });
    const gate = new MemoryGate();
    const [one, two] = [gate.observeHeld(() => 0), gate.observeHeld(() => 0)] as (() => void)[];
    one?.();
    starts.push('one has left');
    two?.();
    expect(starts).toEqual(['observe', 'one has left', 'disconnect']);
    expect([observe, disconnect].map(({ mock }) => mock.calls.length)).toEqual([1, 1]);
    expect(gate.status().zone).toBe('GREEN');
  });
});

describe('the asynchronous context', () => {
  it('is that of the moment it was taken, whoever runs the work', () => {
    const store = new AsyncLocalStorage<string>();
    const taken = store.run('asker', () => currentContext());
    const self = { seen: '' };
    store.run('releaser', () => {
      taken?.runInAsyncScope(function () {
        this.seen = store.getStore() ?? 'nobody';
      }, self);
    });
    expect(self.seen).toBe('asker');
    expect(store.getStore()).toBeUndefined();
  });

  it('hands on what the work throws', () => {
    expect(() =>
      currentContext()?.runInAsyncScope(() => {
        throw new Error('of the work');
      }, null),
    ).toThrow('of the work');
  });
});
