/** Adaptive gates before a simulated server with a knee: the bands that docs/bulkheads.md states. */
import { adaptiveGate, aimd, gradient2, vegas, type AdaptiveGateOptions } from 'rx-admission/bulkhead';
import { delay, mergeMap, tap, timer } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../conformance/virtual-clock.js';
import { load, seeded, Server, watch, type ServerOptions } from './adaptive-server.js';

/** Twenty workers of 100 ms: from 20 in flight on, more of them only wait. */
const KNEE = 20;
const SERVER: ServerOptions = { workers: KNEE, service: 100 };
/** More than any limit here. */
const CALLERS = 250;

/** What must hold of every limit from its settling on, probes aside. */
interface Band {
  readonly name: string;
  readonly limit: AdaptiveGateOptions['limit'];
  /** The server says no beyond so many waiting. */
  readonly queue?: number;
  /** Seconds to get there from 4, from 150, and after the knee has moved. */
  readonly settles: { readonly up: number; readonly down: number; readonly moved: number };
  /** The least and the most, by the knee. */
  readonly least: (knee: number) => number;
  readonly most: (knee: number) => number;
}

const BANDS: readonly Band[] = [
  {
    name: 'vegas',
    limit: vegas(),
    settles: { up: 15, down: 15, moved: 15 },
    // Between alpha and beta in the queue, and a step.
    least: (knee) => knee,
    most: (knee) => knee + 7,
  },
  {
    name: 'gradient2',
    limit: gradient2(),
    settles: { up: 65, down: 40, moved: 70 },
    // As slow as its tolerance allows, and its queue.
    least: (knee) => knee,
    most: (knee) => 2 * knee + 4,
  },
  {
    name: 'gradient2 with a tolerance of 1.1',
    limit: gradient2({ tolerance: 1.1 }),
    settles: { up: 40, down: 75, moved: 70 },
    least: (knee) => knee,
    most: (knee) => 1.2 * knee + 6,
  },
  {
    name: 'aimd at a server that says no to more than ten waiting',
    limit: aimd(),
    queue: 10,
    settles: { up: 40, down: 10, moved: 40 },
    // Nine tenths of what it took last.
    least: (knee) => 0.9 * (knee + 10) - 2,
    most: (knee) => knee + 12,
  },
  {
    name: 'aimd with a greatest latency of 150 ms',
    limit: aimd({ maxLatency: 150 }),
    settles: { up: 40, down: 40, moved: 50 },
    least: (knee) => 0.9 * 1.5 * knee - 3,
    most: (knee) => 1.5 * knee + 3,
  },
];

function scene(options: Pick<AdaptiveGateOptions, 'limit' | 'initial'> & Partial<AdaptiveGateOptions>, server: ServerOptions = SERVER) {
  const clock = new VirtualClock(0);
  const gate = adaptiveGate({ name: 'server', min: 1, max: 200, scheduler: clock, ...options });
  return { clock, gate, server: new Server(clock, server) };
}

function expectWithin(limits: readonly number[], { least, most }: Band, knee: number): void {
  // Most seconds are no probe.
  expect(limits.length).toBeGreaterThan(50);
  expect(Math.min(...limits)).toBeGreaterThanOrEqual(least(knee));
  expect(Math.max(...limits)).toBeLessThanOrEqual(most(knee));
}

describe.each(BANDS)('$name', (band) => {
  const { limit, queue, settles } = band;
  const start = (initial: number) => {
    const all = scene({ limit, initial }, queue === undefined ? SERVER : { ...SERVER, queue });
    load({ ...all, callers: CALLERS, call: () => all.server.call() });
    return all;
  };

  it('comes to the knee from below, and stays', () => {
    const { clock, gate } = start(4);
    watch(gate, clock, settles.up);
    expectWithin(watch(gate, clock, 70), band, KNEE);
  });

  it('comes to the knee from above, and stays', () => {
    const { clock, gate } = start(150);
    watch(gate, clock, settles.down);
    expectWithin(watch(gate, clock, 70), band, KNEE);
  });

  it('follows the knee where it moves, and serves as much as the server can', () => {
    const { clock, gate, server } = start(KNEE);
    watch(gate, clock, settles.up);
    for (const workers of [40, 10]) {
      server.workers = workers;
      watch(gate, clock, settles.moved);
      const before = server.served;
      expectWithin(watch(gate, clock, 70), band, workers);
      // 70 seconds of that many workers, 100 ms a job; the probes cost less than a twentieth.
      expect(server.served - before).toBeGreaterThan(0.95 * 70 * workers * 10);
    }
  });
});

describe.each(BANDS.slice(0, 3))('$name before a server that becomes slower, whatever its load', (band) => {
  it('takes that for load until its next probe, and not after', () => {
    const { clock, gate, server } = ((all) => {
      load({ ...all, callers: CALLERS, call: () => all.server.call() });
      return all;
    })(scene({ limit: band.limit, initial: KNEE }));
    watch(gate, clock, 70);
    server.service *= 3;
    expect(Math.min(...watch(gate, clock, 55))).toBeLessThan(KNEE);
    // What is left of sixty windows, some of them longer than a second by then, and the way back up.
    watch(gate, clock, 70);
    expectWithin(watch(gate, clock, 65), band, KNEE);
  });
});

describe('latency that has nothing to do with load', () => {
  /** A way there and back of so many ms, which no limit changes. */
  const throughNetwork = (measure: 'end' | 'marked') => {
    const all = scene({ limit: vegas(), initial: KNEE, sample: measure });
    const network = { ms: 0 };
    load({
      ...all,
      callers: CALLERS,
      call: (grant) =>
        all.server.call().pipe(
          delay(network.ms, all.clock),
          tap((ms) => {
            if (measure === 'marked') all.gate.mark(grant, ms);
          }),
        ),
    });
    watch(all.gate, all.clock, 20);
    network.ms = 400;
    return watch(all.gate, all.clock, 30);
  };

  it('brings the limit down where it is measured to the end', () => {
    expect(Math.min(...throughNetwork('end'))).toBeLessThan(KNEE / 2);
  });

  it('is ignored where the gate is told what the server itself measured', () => {
    expect(Math.min(...throughNetwork('marked'))).toBeGreaterThanOrEqual(KNEE);
  });

  /** Streams: a first value after the server's work, and then so many ms of values that cost it nothing. */
  const streamed = (measure: 'end' | 'marked') => {
    const all = scene({ limit: gradient2(), initial: KNEE, sample: measure }, { workers: 4, service: 100 });
    const stream = { ms: 400 };
    const random = seeded(3);
    load({
      ...all,
      callers: CALLERS,
      call: (grant) =>
        all.server.call().pipe(
          tap(() => {
            if (measure === 'marked') all.gate.mark(grant);
          }),
          mergeMap(() => timer(stream.ms * (0.5 + random()), all.clock)),
        ),
    });
    watch(all.gate, all.clock, 20);
    stream.ms = 4_000;
    return watch(all.gate, all.clock, 45);
  };

  it('of streams that become longer brings the limit down where it is measured to the end', () => {
    const limits = streamed('end');
    expect(limits.at(-1)).toBeLessThan(0.75 * limits[0]!);
  });

  it('of streams that become longer is ignored where the first value is marked: it finds that more of them fit', () => {
    const limits = streamed('marked');
    expect(Math.min(...limits)).toBeGreaterThanOrEqual(KNEE);
    expect(limits.at(-1)).toBeGreaterThan(1.5 * limits[0]!);
  });
});
