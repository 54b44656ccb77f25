/** Admission measured and traced through OpenTelemetry's own SDKs, as far as Prometheus reads it. */
import { readFileSync } from 'node:fs';
import { context, trace, type Context } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { PrometheusExporter, PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { AbstractAccount, CountingGate, TokenBucket, createAdmission, demand, type Admission, type Grant } from 'rx-admission';
import { instrument } from 'rx-admission/otel';
import { VirtualTimeScheduler } from 'rxjs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

let clock: VirtualTimeScheduler;
let admission: Admission;
let gate: CountingGate;

const later = (delay: number): void => {
  clock.maxFrames = clock.frame + delay;
  clock.flush();
  clock.frame = clock.maxFrames;
};

beforeEach(() => {
  clock = new VirtualTimeScheduler();
  admission = createAdmission({ scheduler: clock, name: 'tests' });
  gate = new CountingGate({ name: 'gate', capacity: 2 });
});

/** What everything below measures: two at once, one that waits two seconds, one that leaves, one that can never be. */
function scene(): Grant[] {
  const grants = [1, 1].map(() => admission.tryAcquire(demand(gate))).filter((grant) => grant !== null);
  admission.acquire(demand(gate)).then((grant) => grants.push(grant), () => undefined);
  admission.acquire(demand(gate), { maxWait: 500 }).catch(() => undefined);
  admission.defer(demand(gate), () => [1]).subscribe().unsubscribe();
  admission.acquire(demand([gate, 9])).catch(() => undefined);
  later(2_000);
  grants[0]?.release('success');
  return grants;
}

describe('metrics', () => {
  const serializer = new PrometheusSerializer();
  let exporter: PrometheusExporter;
  let meters: MeterProvider;
  let stop: () => void;
  beforeEach(() => {
    exporter = new PrometheusExporter({ preventServerStart: true });
    meters = new MeterProvider({ readers: [exporter] });
    stop = instrument(admission, { meter: meters.getMeter('rx-admission') });
  });
  afterEach(async () => {
    stop();
    await meters.shutdown();
  });

  /** What Prometheus reads, as far as it is ours. */
  async function text(): Promise<string> {
    const { resourceMetrics, errors } = await exporter.collect();
    expect(errors).toEqual([]);
    return serializer.serialize(resourceMetrics);
  }

  /** The value of one series, by its name and a part of its labels. */
  async function value(name: string, labels = ''): Promise<number> {
    const line = (await text()).split('\n').find((each) => each.startsWith(`${name}{`) && each.includes(labels));
    return Number(line?.split(' ')[1]);
  }

  it('count decisions by how they went and why, and time them', async () => {
    scene();
    expect(await value('rx_admission_decisions_total', 'rx_admission_outcome="granted",otel')).toBe(2);
    expect(await value('rx_admission_decisions_total', 'rx_admission_outcome="granted",rx_admission_account="gate"')).toBe(1);
    expect(await value('rx_admission_decisions_total', 'rx_admission_reason="timeout"')).toBe(1);
    expect(await value('rx_admission_decisions_total', 'rx_admission_reason="circuit_blocked"')).toBe(1);
    expect(await value('rx_admission_decisions_total', 'rx_admission_outcome="withdrawn"')).toBe(1);
    expect(await value('rx_admission_wait_duration_sum', 'outcome="granted",rx_admission_account="gate"')).toBe(2);
    expect(await value('rx_admission_wait_duration_sum', 'rx_admission_reason="timeout"')).toBe(0.5);
    expect(await value('rx_admission_hold_duration_sum', 'rx_admission_outcome="success"')).toBe(2);
    expect(await value('rx_admission_request_weight_sum')).toBe(3);
  });

  it('time how long a grant was held, by how it ended', async () => {
    const [, second] = scene();
    second?.rollback();
    admission.tryAcquire(demand(gate))?.release({ pressure: { status: 429, weight: 1, retryAfter: null, summary: 'slow' }, account: gate } as never);
    const series = await text();
    for (const outcome of ['success', 'rollback', 'pressure']) {
      expect(series).toMatch(new RegExp(`hold_duration_count\\{[^}]*rx_admission_outcome="${outcome}"[^}]*\\} 1`));
    }
  });

  it('show the line, what is held, and each account as they are when they are read', async () => {
    scene();
    for (let n = 0; n < 3; n += 1) admission.acquire(demand(gate)).catch(() => undefined);
    later(3_000);
    gate.resize(1);
    expect(await value('rx_admission_queue_size')).toBe(3);
    expect(await value('rx_admission_queue_age')).toBe(3);
    expect(await value('rx_admission_grants_held')).toBe(2);
    expect(await value('rx_admission_violations')).toBe(0);
    expect(await value('rx_admission_grants_age')).toBe(5);
    expect(await value('rx_admission_capacity_limit', 'rx_admission_account="gate"')).toBe(1);
    expect(await value('rx_admission_capacity_used')).toBe(2);
    expect(await value('rx_admission_capacity_available')).toBe(-1);
    expect(await value('rx_admission_capacity_waiters', 'rx_admission_category="semaphore"')).toBe(3);
    // What nobody took comes back.
    gate.give([1], 0);
    expect(await value('rx_admission_violations')).toBeGreaterThan(0);
  });

  it('are all that the dashboard asks for, and it asks for all of them', async () => {
    scene();
    admission.acquire(demand([gate, 2])).catch(() => undefined);
    const dashboard = readFileSync(new URL('../../docs/observability/grafana.json', import.meta.url), 'utf8');
    const asked = new Set(dashboard.match(/rx_admission_[a-z_]+(?=\{)/g));
    const told = new Set((await text()).split('\n').flatMap((line) => /^(rx_admission_[a-z_]+)\{/.exec(line)?.[1] ?? []));
    const family = (names: ReadonlySet<string>): readonly string[] => [...new Set([...names].map((name) => name.replace(/_(bucket|count|sum)$/, '')))].sort();
    expect([...asked].filter((name) => !told.has(name))).toEqual([]);
    expect(family(asked)).toEqual(family(told));
  });

  it('go on for an account that nobody holds any more, with what throttles or blocks it', async () => {
    const bucket = new TokenBucket({ name: 'tokens', tokensPerMinute: 100 });
    const grant = admission.tryAcquire(demand(gate, [bucket, 100]));
    expect(await value('rx_admission_capacity_used', 'account="gate"')).toBe(1);
    grant?.release();
    gate.resize(5);
    bucket.record429();
    expect(await value('rx_admission_capacity_used', 'account="gate"')).toBe(0);
    expect(await value('rx_admission_capacity_limit', 'account="gate"')).toBe(5);
    expect(await value('rx_admission_capacity_throttle', 'account="tokens"')).toBe(1.5);
    bucket.closeUntil(clock.frame + 1_000);
    expect(await value('rx_admission_capacity_blocked', 'account="tokens"')).toBe(1);
    expect(await value('rx_admission_capacity_blocked', 'account="gate"')).toBe(0);
  });

  it('name the account that refused at once', async () => {
    admission.acquire(demand([gate, 9])).catch(() => undefined);
    expect(await value('rx_admission_decisions_total', 'rx_admission_reason="circuit_blocked",rx_admission_account="gate"')).toBe(1);
  });

  it('leave a gap where an account cannot tell', async () => {
    class Mute extends AbstractAccount {
      readonly capacity = 1;
      inUse(): number {
        throw new Error('not now');
      }
      fits(): boolean {
        return true;
      }
      tryTake(): boolean {
        return true;
      }
      give(): void {
        // Nothing was taken.
      }
      earliestFit(): null {
        return null;
      }
      override readonly replenishment = 'release';
    }
    const grant = admission.tryAcquire(demand(new Mute('mute')));
    for (const step of ['held', 'idle']) {
      expect([step, await value('rx_admission_capacity_waiters', 'account="mute"')]).toEqual([step, 0]);
      expect(await text()).not.toContain('capacity_used{');
      grant?.release();
    }
  });

  it('say nothing of another admission, nor of anything once they are stopped', async () => {
    createAdmission({ scheduler: clock, name: 'tests' }).tryAcquire(demand(gate));
    stop();
    scene();
    expect(await text()).not.toMatch(/^rx_admission_[a-z_]+\{/m);
  });
});

describe('spans', () => {
  const spans = new InMemorySpanExporter();
  const tracer = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }).getTracer('tests');
  let stop: () => void;
  beforeAll(() => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  });
  afterAll(() => {
    context.disable();
  });
  beforeEach(() => {
    spans.reset();
    stop = instrument(admission, { tracer });
  });
  afterEach(() => {
    stop();
  });

  it('cover what waits, as children of who asked, with the account that it waits for', () => {
    const parent = tracer.startSpan('parent');
    const inside: Context = trace.setSpan(context.active(), parent);
    context.with(inside, () => scene());
    const [timeout, withdrawn, granted] = ['timeout', undefined, undefined].map((reason, index) => {
      const outcome = ['refused', 'withdrawn', 'granted'][index];
      return spans.getFinishedSpans().find(({ attributes }) => attributes['rx.admission.outcome'] === outcome && attributes['rx.admission.reason'] === reason);
    });
    expect(spans.getFinishedSpans().map(({ name }) => name)).toEqual(Array(3).fill('rx.admission.wait'));
    expect(granted?.attributes).toEqual({
      'rx.admission.name': 'tests',
      'rx.admission.place': 1,
      'rx.admission.account': 'gate',
      'rx.admission.accounts': 'gate',
      'rx.admission.outcome': 'granted',
      'rx.admission.waited_ms': 2_000,
    });
    expect(timeout?.status).toMatchObject({ code: 2, message: expect.stringContaining('not granted within 500ms') as string });
    expect(withdrawn?.status.code).toBe(0);
    for (const span of [timeout, withdrawn, granted]) expect(span?.parentSpanContext?.spanId).toBe(parent.spanContext().spanId);
  });

  it('end when they are stopped, and belong to no other admission', () => {
    scene();
    const other = createAdmission({ scheduler: clock });
    const full = new CountingGate({ name: 'full', capacity: 1 });
    other.tryAcquire(demand(full));
    other.acquire(demand(full)).catch(() => undefined);
    spans.reset();
    admission.acquire(demand([gate, 2])).catch(() => undefined);
    stop();
    expect(spans.getFinishedSpans()).toHaveLength(1);
    admission.stop();
    expect(spans.getFinishedSpans()).toHaveLength(1);
  });
});

it('needs something to tell', () => {
  expect(() => instrument(admission, {})).toThrow(/give it a meter, a tracer, or both/);
});
