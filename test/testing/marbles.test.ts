/** The published marble helper: five lines for a scenario, and a message that shows where it differs. */
import { EMPTY, NEVER, catchError, map, merge, of, timer } from 'rxjs';
import type { AdmissionError } from 'rx-admission';
import {
  MarbleMismatch,
  admissionMarbles,
  type AdmissionMarbles,
  type AdmissionMarblesOptions,
} from 'rx-admission/testing';
import { describe, expect, it } from 'vitest';
import { Random } from '../../src/testing/random.js';

const failure = (body: (marbles: AdmissionMarbles) => void, options: AdmissionMarblesOptions = {}): Error => {
  try {
    admissionMarbles(options, body);
  } catch (error) {
    if (error instanceof Error) return error;
    throw error;
  }
  throw new Error('nothing differed');
};

describe('admissionMarbles', () => {
  it('runs a scenario of five lines', () => {
    admissionMarbles(({ admission, gate, demand, hot, cold, expectObservable, expectSubscriptions, events }) => {
      const http = gate('http', 1);
      const call = cold('                ---x|');
      const out = hot('ab--------|').pipe(
        admission.admit(
          () => demand(http),
          () => call,
        ),
      );
      expectObservable(events(http)).toBe('ih--(rg)r');
      expectObservable(out).toBe('         ---x---x--|');
      expectSubscriptions(call.subscriptions).toBe(['^---!', '----^---!']);
    });
  });

  it('answers what the body answers', () => {
    expect(admissionMarbles(() => 7)).toBe(7);
  });

  it('lets a character last as long as the test says', () => {
    admissionMarbles({ frame: 1_000 }, ({ admission, bucket, demand, hot, cold, time, expectObservable }) => {
      const gpt = bucket('gpt-5', 60, { requestsPerMinute: 60 });
      const out = hot('ab|').pipe(
        admission.admit(
          (c) => demand([gpt, c === 'a' ? 60 : 5]),
          () => cold('(x|)'),
        ),
      );
      expectObservable(out).toBe('x----(x|)');
      expect(time('---|')).toBe(3_000);
    });
    expect(() => admissionMarbles({ frame: 0 }, () => undefined)).toThrow(RangeError);
  });

  it('leaves the frame of other TestSchedulers alone', () => {
    admissionMarbles({ frame: 1_000 }, () => undefined);
    admissionMarbles(({ time }) => {
      expect(time('---|')).toBe(3);
    });
  });

  it('drives the windows it makes by the same clock', () => {
    admissionMarbles(({ admission, window, demand, hot, time, expectObservable }) => {
      const search = window('search', 1, time('-----|'));
      const out = hot('ab----|').pipe(admission.admit(demand(search), (query) => of(query)));
      expectObservable(out).toBe('a----b|');
    });
  });

  it('reads the heap from a line', () => {
    admissionMarbles(({ admission, gate, demand, heap, hot, expectObservable, events }) => {
      heap('h--l', { h: 0.96, l: 0.5 });
      const http = gate('http', 1);
      const out = hot('a----|').pipe(admission.admit(demand(http), () => of('x')));
      expectObservable(events({ name: 'memory' })).toBe('h--g');
      expectObservable(events()).toBe('h--(igr)');
      expectObservable(out).toBe('---x-|');
    });
  });

  it('refuses a heap line that it cannot read, or that nobody would', () => {
    expect(failure(({ heap }) => heap('a-b', { a: 0.5 })).message).toBe('the heap line says "b", which has no meaning');
    expect(failure(({ heap }) => heap('a|', { a: 0.5 })).message).toContain('"|"');
    expect(failure(({ heap }) => heap('#', { a: 0.5 })).message).toContain('"#"');
    expect(failure(({ heap }) => heap('a', { a: 0.5 }), { memory: false }).message).toContain('memory gate');
  });

  it('does what the actions line says, when it says so', () => {
    admissionMarbles(({ admission, gate, demand, actions, hot, expectObservable, events }) => {
      const http = gate('http', 1);
      actions('p--r', { p: () => http.pause(), r: () => http.resume() });
      const out = hot('a----|').pipe(admission.admit(demand(http), () => of('x')));
      expectObservable(events(http)).toBe('h--(gr)');
      expectObservable(out).toBe('---x-|');
    });
  });

  it('aborts a signal at its mark', () => {
    admissionMarbles(({ admission, gate, demand, signal, cold, expectObservable }) => {
      const http = gate('http', 1);
      expectObservable(admission.defer(demand(http), () => NEVER)).toBe('-');
      const waits = admission.defer(demand(http), () => cold('x|'), { signal: signal('---!') });
      const reason = waits.pipe(catchError((error: unknown) => of((error as AdmissionError).reason)));
      expectObservable(reason).toBe('---(c|)', { c: 'cancelled' });
      expect(signal('----').aborted).toBe(false);
    });
  });

  it('settles a promise at an instant of virtual time', () => {
    admissionMarbles(({ admission, gate, demand, promise, expectObservable, events }) => {
      const http = gate('http', 1);
      const call = admission.defer(demand(http), () => promise('-----(x|)'));
      expectObservable(call, '^-!').toBe('---');
      expectObservable(call, '-^').toBe('----------(x|)');
      expectObservable(events(http)).toBe('ih---(rg)-r');
    });
  });

  it('takes the options of an admission', () => {
    admissionMarbles({ maxWaiters: 1 }, ({ admission, gate, demand, hot, expectObservable }) => {
      const http = gate('http', 1);
      const out = hot('abc').pipe(
        admission.admit(demand(http), () => NEVER, { onRefused: (error: AdmissionError) => of(error.reason) }),
      );
      expectObservable(out).toBe('--o', { o: 'overflow' });
    });
  });

  it('refuses an async body, which virtual time would not wait for', () => {
    expect(() => admissionMarbles(() => Promise.resolve())).toThrow(TypeError);
  });

  it("refuses the scheduler's own expectations, which it could not explain", () => {
    expect(failure(({ scheduler }) => scheduler.expectObservable(EMPTY).toBe('|')).message).toContain('own helpers');
  });

  it('refuses an expectation that never says what it expects', () => {
    expect(failure(({ expectObservable }) => expectObservable(EMPTY)).message).toContain('has no diagram');
    expect(failure(({ expectSubscriptions }) => expectSubscriptions([])).message).toContain('has no diagram');
  });

  it('compares at a flush in the middle too', () => {
    const error = failure(({ cold, flush, expectObservable }) => {
      expectObservable(cold('-a|')).toBe('-b|');
      flush();
      throw new Error('came too far');
    });
    expect(error).toBeInstanceOf(MarbleMismatch);
  });

  it('compares two observables with each other', () => {
    admissionMarbles(({ cold, expectObservable }) => expectObservable(cold('-a|')).toEqual(cold('-a|')));
    expect(failure(({ cold, expectObservable }) => expectObservable(cold('-a|')).toEqual(cold('--a|')))).toBeInstanceOf(
      MarbleMismatch,
    );
  });
});

describe('the promises of a marble test', () => {
  const told = (tell: (promise: AdmissionMarbles['promise'], say: (what: unknown) => void) => void): unknown[] =>
    admissionMarbles(({ promise, scheduler, flush }) => {
      const said: unknown[] = [];
      tell(promise, (what) => said.push([scheduler.now(), what instanceof Error ? what.message : what]));
      flush();
      return said;
    });

  it('chain as real ones do, in the frame in which they settle', () => {
    const said = told((promise, say) => {
      promise('--(x|)')
        .then((x) => `${x}!`)
        .then((x) => promise('-(y|)').then((y) => x + y))
        .then(say);
    });
    expect(said).toEqual([[3, 'x!y']]);
  });

  it('call back later also when they have settled', () => {
    const said = told((promise, say) => {
      const settled = promise('(x|)');
      settled.then(() => {
        settled.then(say);
        say('first');
      });
    });
    expect(said).toEqual([
      [0, 'first'],
      [0, 'x'],
    ]);
  });

  it('settle once, whatever a thenable does', () => {
    const twice = {
      then: (fulfilled: (value: string) => void) => {
        fulfilled('a');
        fulfilled('b');
      },
    } as PromiseLike<string>;
    const said = told((promise, say) => {
      promise('-(x|)')
        .then(() => twice)
        .then(say);
    });
    expect(said).toEqual([[1, 'a']]);
  });

  it('pass a rejection on to whoever handles it', () => {
    const said = told((promise, say) => {
      promise('-#', {}, new Error('boom')).then(say).then(null, say);
      promise('--|').then(null, say);
      promise('---(x|)')
        .then(() => {
          throw new Error('bang');
        })
        .then(null, say);
      promise('----(x|)').then(null, say).then(say);
    });
    expect(said).toEqual([
      [1, 'boom'],
      [2, 'the diagram of this promise ends without a value'],
      [3, 'bang'],
      [4, 'x'],
    ]);
  });
});

describe('the values of a marble test', () => {
  const cyclic = (name: string): object => {
    const one: Record<string, unknown> = { name };
    one.self = one;
    return one;
  };
  const differs = (expected: unknown, got: unknown): boolean => {
    try {
      admissionMarbles(({ cold, expectObservable }) =>
        expectObservable(cold('a', { a: got })).toBe('a', { a: expected }),
      );
      return false;
    } catch (error) {
      expect(error).toBeInstanceOf(MarbleMismatch);
      return true;
    }
  };

  it.each([
    ['objects', () => ({ a: [1, { b: NaN }] })],
    ['dates', () => new Date(7)],
    ['maps', () => new Map([['a', { n: 1 }]])],
    ['sets', () => new Set([1, 2])],
    ['errors', () => Object.assign(new TypeError('boom'), { code: 7 })],
    ['cycles', () => cyclic('a')],
    ['matchers of a test framework', (): unknown => expect.objectContaining({})],
  ])('compare %s by structure', (_, make) => {
    expect(differs(make(), make())).toBe(false);
  });

  it.each<[string, unknown, unknown]>([
    ['fields', { a: 1 }, { a: 2 }],
    ['missing fields', { a: undefined }, {}],
    ['classes', new TypeError('boom'), new RangeError('boom')],
    ['messages', new Error('boom'), new Error('bang')],
    ['fields of errors', Object.assign(new Error('boom'), { code: 7 }), new Error('boom')],
    ['dates', new Date(7), new Date(8)],
    ['maps', new Map([['a', 1]]), new Map([['a', 2]])],
    ['sizes of sets', new Set([1]), new Set([1, 2])],
    ['an object and a word', { a: 1 }, 'a'],
    ['null and an object', null, {}],
    ['an object and null', {}, null],
    ['cycles', cyclic('a'), cyclic('b')],
    ['functions', () => 1, () => 2],
    ['what a matcher refuses', expect.objectContaining({ a: 1 }), { a: 2 }],
  ])('tell %s apart', (_, expected, got) => {
    expect(differs(expected, got)).toBe(true);
  });
});

describe('a MarbleMismatch', () => {
  it('shows both diagrams on common columns and the instants that differ', () => {
    const error = failure(({ cold, expectObservable }) => expectObservable(cold('--x---y|')).toBe('--x--y|'));
    expect(error).toBeInstanceOf(MarbleMismatch);
    expect(error.message).toBe(
      [
        'the observable differs from its diagram',
        '',
        '  expected  --x--y|',
        '  got       --x---y|',
        '                 ^',
        '  5ms: expected y, got nothing',
        '  6ms: expected |, got y',
        '  7ms: expected nothing, got |',
      ].join('\n'),
    );
  });

  it('points at the line that expected something else', () => {
    const error = failure(({ cold, expectObservable }) => {
      expectObservable(cold('a')).toBe('b');
    });
    expect(error.stack?.split('\n').find((line) => line.includes(' at '))).toContain('marbles.test.ts');
  });

  it('keeps its own stack where that of the expectation cannot be read', () => {
    const limit = Error.stackTraceLimit;
    Error.stackTraceLimit = 0;
    try {
      expect(failure(({ cold, expectObservable }) => expectObservable(cold('a')).toBe('b')).stack).toContain('differs');
    } finally {
      Error.stackTraceLimit = limit;
    }
  });

  it('tells of all that differed at once', () => {
    const { message } = failure(({ cold, expectObservable, expectSubscriptions }) => {
      const inner = cold('a|');
      expectObservable(inner).toBe('b|');
      expectSubscriptions(inner.subscriptions).toBe('^-!');
    });
    expect(message).toContain('the observable differs');
    expect(message).toContain('the subscriptions differ');
  });

  it('writes groups, long silences and the scale', () => {
    const { message } = failure(
      ({ cold, expectObservable }) =>
        expectObservable(cold('(ab)- 90s c 61500ms d 2m e')).toBe('(ab)- 90s c 61500ms e 2m e'),
      { frame: 1_000 },
    );
    expect(message).toContain('(1 frame = 1s)');
    expect(message).toContain('  expected  (ab) 91s c 61500ms e 2m e\n  got       (ab) 91s c 61500ms d 2m e\n');
  });

  it('keeps the columns where a group is wider than time', () => {
    const { message } = failure(({ cold, expectObservable }) =>
      expectObservable(merge(cold('(ab)'), cold('-c'))).toBe('ac'),
    );
    expect(message).toContain('  expected  a   c\n  got       (ab)c\n            ^\n  0ms: expected a, got a b');
  });

  it('makes up letters for values that have none, and explains them', () => {
    const { message } = failure(({ cold, expectObservable }) =>
      expectObservable(cold('abc', { a: { n: 1 }, b: 'word', c: '*' })).toBe('xb', { x: { n: 2 }, b: 'word' }),
    );
    expect(message).toContain('  expected  xb\n  got       AbB\n            ^\n');
    expect(message).toContain('A = {"n":1}');
    expect(message).toContain('B = *');
  });

  it('runs out of letters gracefully', () => {
    const all = 'abcdefghijklmnopqrstuvwxyz0' as string;
    const values = Object.fromEntries([...all].map((letter, i) => [letter, [i]]));
    const { message } = failure(({ cold, expectObservable }) => expectObservable(cold(all, values)).toBe('-'));
    expect(message).toContain('ABCDEFGHIJKLMNOPQRSTUVWXYZ?');
    expect(message).toContain('? = [26]');
  });

  it('tells errors apart', () => {
    const { message } = failure(({ cold, expectObservable }) =>
      expectObservable(cold('#', {}, new Error('boom'))).toBe('#', {}, new Error('bang')),
    );
    expect(message).toContain('# expected Error: bang, got Error: boom');
    expect(failure(({ cold, expectObservable }) => expectObservable(cold('|')).toBe('#')).message).toContain(
      '# expected "error", got none',
    );
  });

  it('names an unnamed letter that a values map would hide', () => {
    const { message } = failure(({ cold, expectObservable }) =>
      expectObservable(cold('ab', { a: 'a', b: 'x' })).toBe('x', { x: { n: 2 } }),
    );
    expect(message).toContain('  got       aA\n');
    expect(message).toContain('a = a\n  A = x');
  });

  it('says which of several expectations differs, and where it was written', () => {
    const { message } = failure(({ cold, expectObservable }) => {
      expectObservable(cold('a')).toBe('a');
      expectObservable(cold('b')).toBe('c');
      expectObservable(cold('d')).toBe('e');
    });
    const [second, third] = message.split('\n\n').filter((part) => part.includes('differs'));
    expect(second).toMatch(/^expectation 2 \(marbles\.test\.ts:\d+\): the observable differs from its diagram$/);
    expect(third).toMatch(/^expectation 3 \(marbles\.test\.ts:\d+\): /);
  });

  it('shows subscriptions one under the other', () => {
    const { message } = failure(({ cold, expectObservable, expectSubscriptions }) => {
      const inner = cold('----|');
      expectObservable(inner, '^--!').toBe('----');
      expectObservable(inner, '-^').toBe('-----|');
      expectSubscriptions(inner.subscriptions).toBe(['^--!', '-^--!', '--^']);
    });
    expect(message.split('\n')).toEqual([
        expect.stringMatching(/^expectation 3 \(marbles\.test\.ts:\d+\): the subscriptions differ from their diagrams$/),
        '',
        '  both      ^--!',
        '  expected  -^--!',
        '  got       -^---!',
        '                ^',
        '  4ms: expected !, got nothing',
        '  5ms: expected nothing, got !',
        '  expected  --^',
        '  got       -',
        '              ^',
        '  2ms: expected ^, got nothing',
      ]);
  });
});

describe('the got line of a MarbleMismatch', () => {
  /** Letters, each at its instant; the source of an expectation. */
  type Line = readonly (readonly [at: number, letter: string])[];

  const outcome = (line: Line, frame: number, marbles: string): string | null => {
    try {
      admissionMarbles({ frame }, ({ expectObservable }) => {
        const source = merge(...line.map(([at, letter]) => timer(at).pipe(map(() => letter))), NEVER);
        expectObservable(source).toBe(marbles);
      });
      return null;
    } catch (error) {
      return (error as Error).message;
    }
  };
  const gotLine = (message: string): string => /^ {2}got {7}(.*)$/m.exec(message)![1]!;

  it('passes when it is pasted, wherever events and silences fall', () => {
    const random = new Random(7);
    const below = (most: number): number => random.below(most);
    let [written, not] = [0, 0];
    for (let round = 0; round < 300; round += 1) {
      const frame = [1, 10, 1_000][below(3)]!;
      const line: [number, string][] = [];
      for (let at = below(3); line.length < 8; at += [1, 2, 4, 7, 40, 0.5][below(6)]!) {
        for (let count = 1 + below(3); count > 0; count -= 1) line.push([at * frame, 'abcdef'[below(6)]!]);
      }
      // Expected is another line, with groups of its own in between.
      const message = outcome(line, frame, ['z', '--(zz)-z', '  90ms z', '(zzzzz)--z'][below(4)]!)!;
      const pasted = outcome(line, frame, gotLine(message));
      if (message.includes('got cannot be written')) not += 1;
      else written += 1;
      expect([message, pasted === null]).toEqual([message, !message.includes('got cannot be written')]);
    }
    expect([written > 30, not > 30]).toEqual([true, true]);
  });

  it('is said to have no diagram where an event lies inside a group, or inside a frame', () => {
    const inside = outcome([[0, 'i'], [2, 'r'], [2, 'g'], [3, 'h']], 1, 'i');
    expect(inside).toContain(
      'got cannot be written as a diagram: h at 3ms lies inside the group at 2ms, which takes 4 frames; space the scenario',
    );
    expect(outcome([[0, 'a'], [500, 'b']], 1_000, 'a')).toContain('b at 500ms lies inside the frame of a at 0ms; choose a smaller frame');
  });
});
