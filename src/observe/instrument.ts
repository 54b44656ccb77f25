/** Meters and traces an admission with OpenTelemetry. It only listens: no decision waits for it, or hears of its failure. */
import { CHANNELS, amountOf, type Admission, type AdmissionStatus, type AskMessage, type RefusedMessage, type SettledMessage } from '../index.js';
import { instrumentsOf, type Gauges, type Instruments } from './instruments.js';
import { listenTo } from '#platform';
import { SeenAccounts } from './seen-accounts.js';
import type { Attributes, BatchResult, MeterLike, ObservableGauge, Span, TracerLike } from './otel-api.js';

export interface InstrumentOptions {
  /** `metrics.getMeter('rx-admission')` of `@opentelemetry/api`. Nothing is measured without one. */
  readonly meter?: MeterLike | undefined;
  /** `trace.getTracer('rx-admission')` of `@opentelemetry/api`. Nothing is traced without one. */
  readonly tracer?: TracerLike | undefined;
}

/** `SpanStatusCode.ERROR`, which is part of the specification. */
const ERROR = 2;
const MS = 1_000;

/**
 * Measures what the admission does, and traces what waits: a span `rx.admission.wait` for each ask that is not granted at
 * once, a child of the span that is active where it was asked.
 *
 * @returns what stops it, and ends the spans that are open.
 * @throws TypeError without a meter and without a tracer.
 *
 * @example
 * ```ts
 * import { metrics, trace } from '@opentelemetry/api';
 *
 * instrument(admission, { meter: metrics.getMeter('rx-admission'), tracer: trace.getTracer('rx-admission') });
 * ```
 */
export function instrument(admission: Admission, { meter, tracer }: InstrumentOptions): () => void {
  if (meter === undefined && tracer === undefined) {
    throw new TypeError('instrument has nothing to tell: give it a meter, a tracer, or both');
  }
  const stops = [
    ...(meter === undefined ? [] : [measured(admission, instrumentsOf(meter), meter)]),
    ...(tracer === undefined ? [] : [traced(admission, tracer)]),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}

/** The published life of the asks of one admission. */
interface Listener {
  waiting?(message: AskMessage): void;
  granted(message: AskMessage): void;
  refused(message: RefusedMessage): void;
  settled?(message: SettledMessage): void;
}

function listen(admission: Admission, listener: Listener): () => void {
  const hooks = (Object.keys(listener) as (keyof Listener)[]).map((kind) =>
    listenTo(CHANNELS[kind], (message) => {
      if ((message as AskMessage).admission === admission) listener[kind]?.(message as never);
    }),
  );
  return () => {
    for (const unhook of hooks) unhook();
  };
}

function measured(admission: Admission, { decisions, wait, hold, weight, gauges }: Instruments, meter: MeterLike): () => void {
  const own: Attributes = { 'rx.admission.name': admission.name };
  const seen = new SeenAccounts();
  const decided = (message: AskMessage, how: Attributes): void => {
    seen.see(message.demand);
    const account = message.heldOn.at(-1) ?? refusedBy(message);
    const attributes = { ...own, ...how, ...(account === undefined ? {} : { 'rx.admission.account': account }) };
    decisions.add(1, attributes);
    wait.record(message.waited / MS, attributes);
  };
  const unlisten = listen(admission, {
    granted: (message) => {
      decided(message, { 'rx.admission.outcome': 'granted' });
      for (const { account, amounts } of message.demand.entries) {
        weight.record(amountOf(amounts), { ...own, 'rx.admission.account': account.name });
      }
    },
    refused: (message) => {
      decided(message, outcomeOf(message));
    },
    settled: ({ held, verb, outcome }) => {
      const how = verb === 'rollback' ? verb : typeof outcome === 'string' ? outcome : 'pressure';
      hold.record(held / MS, { ...own, 'rx.admission.outcome': how });
    },
  });
  const all = Object.values<ObservableGauge>({ ...gauges });
  const observe = (result: BatchResult): void => {
    const status = admission.status();
    observeStatus({ ...status, accounts: seen.views(admission, status.accounts) }, gauges, own, result);
    result.observe(gauges.violations, admission.check().length, own);
  };
  meter.addBatchObservableCallback(observe, all);
  return () => {
    unlisten();
    meter.removeBatchObservableCallback(observe, all);
  };
}

/** Refused at once, by an account that it never waited for. */
const refusedBy = (message: AskMessage): string | undefined => (message as Partial<RefusedMessage>).error?.account;

const outcomeOf = ({ error }: RefusedMessage): Attributes =>
  error === null
    ? { 'rx.admission.outcome': 'withdrawn' }
    : { 'rx.admission.outcome': 'refused', 'rx.admission.reason': error.reason };

function observeStatus(status: AdmissionStatus, gauges: Gauges, own: Attributes, result: BatchResult): void {
  const { queueSize, waiters, grants, accounts } = status;
  result.observe(gauges.queueSize, queueSize, own);
  // Both lists are in order: the first has waited, or is held, longest.
  result.observe(gauges.queueAge, (waiters[0]?.waited ?? 0) / MS, own);
  result.observe(gauges.held, grants.length, own);
  result.observe(gauges.holdAge, (grants[0]?.age ?? 0) / MS, own);
  for (const { name, category, capacity, inUse, waiters: held, indicator } of accounts) {
    const about = { ...own, 'rx.admission.account': name, 'rx.admission.category': category };
    result.observe(gauges.waiters, held, about);
    result.observe(gauges.throttle, Number(/^throttle:([\d.]+)x$/.exec(indicator ?? '')?.[1] ?? 1), about);
    result.observe(gauges.blocked, indicator === 'blocked' ? 1 : 0, about);
    // One that cannot tell just now leaves a gap.
    if (Number.isNaN(capacity) || Number.isNaN(inUse)) continue;
    result.observe(gauges.limit, capacity, about);
    result.observe(gauges.used, inUse, about);
    result.observe(gauges.available, capacity - inUse, about);
  }
}

function traced(admission: Admission, tracer: TracerLike): () => void {
  const open = new Map<object, Span>();
  const end = ({ ask, waited, heldOn }: AskMessage, attributes: Attributes, failure?: string): void => {
    const span = open.get(ask);
    if (span === undefined) return;
    open.delete(ask);
    span.setAttributes({ ...attributes, 'rx.admission.waited_ms': waited, 'rx.admission.accounts': heldOn.join(', ') });
    if (failure !== undefined) span.setStatus({ code: ERROR, message: failure });
    span.end();
  };
  const unlisten = listen(admission, {
    waiting: ({ ask, heldOn }) => {
      const attributes = {
        'rx.admission.name': admission.name,
        'rx.admission.place': admission.queueSize,
        'rx.admission.account': heldOn.at(-1) ?? '',
      };
      open.set(ask, tracer.startSpan('rx.admission.wait', { attributes }));
    },
    granted: (message) => {
      end(message, { 'rx.admission.outcome': 'granted' });
    },
    refused: (message) => {
      end(message, outcomeOf(message), message.error?.message);
    },
  });
  return () => {
    unlisten();
    for (const span of open.values()) span.end();
    open.clear();
  };
}
