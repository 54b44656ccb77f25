/**
 * What is measured, and how it is called. Names follow OpenTelemetry's `db.client.connection.*`: what is there, what
 * waits, how long waiting and holding took. They are stable: a dashboard's queries name them.
 */
import type { Counter, Histogram, MeterLike, ObservableGauge } from './otel-api.js';

/** Seconds: from a millisecond to an hour, since a wait for a provider's quota takes minutes. */
const SECONDS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3_600];
/** Weights run from one permit to the tokens of the longest contexts. */
const WEIGHTS = [1, 2, 5, 10, 100, 1_000, 10_000, 100_000, 1_000_000];

export interface Instruments {
  /** How asks ended: by `rx.admission.outcome` (`granted`, `refused`, `withdrawn`) and `rx.admission.reason`. */
  readonly decisions: Counter;
  /** From asking to the answer, with the account that refused it last. */
  readonly wait: Histogram;
  /** From the grant to its settlement, by how it was settled. */
  readonly hold: Histogram;
  /** What was asked of each account. */
  readonly weight: Histogram;
  readonly gauges: Gauges;
}

/** Read when a reader collects. */
export interface Gauges {
  readonly queueSize: ObservableGauge;
  readonly queueAge: ObservableGauge;
  readonly held: ObservableGauge;
  readonly holdAge: ObservableGauge;
  readonly violations: ObservableGauge;
  readonly limit: ObservableGauge;
  readonly used: ObservableGauge;
  readonly available: ObservableGauge;
  readonly waiters: ObservableGauge;
  readonly throttle: ObservableGauge;
  readonly blocked: ObservableGauge;
}

export function instrumentsOf(meter: MeterLike): Instruments {
  const gauge = (name: string, unit: string, description: string): ObservableGauge =>
    meter.createObservableGauge(`rx.admission.${name}`, { unit, description });
  const histogram = (name: string, unit: string, description: string, explicitBucketBoundaries: number[]): Histogram =>
    meter.createHistogram(`rx.admission.${name}`, { unit, description, advice: { explicitBucketBoundaries } });
  return {
    decisions: meter.createCounter('rx.admission.decisions', { unit: '{decision}', description: 'Asks that were answered' }),
    wait: histogram('wait.duration', 's', 'Time from asking to the answer', SECONDS),
    hold: histogram('hold.duration', 's', 'Time from a grant to its settlement', SECONDS),
    weight: histogram('request.weight', '{permit}', 'What was asked of an account', WEIGHTS),
    gauges: {
      queueSize: gauge('queue.size', '{request}', 'Asks that wait'),
      queueAge: gauge('queue.age', 's', 'For how long the one that waits longest has waited'),
      held: gauge('grants.held', '{grant}', 'Grants that are not settled'),
      holdAge: gauge('grants.age', 's', 'For how long the grant that is held longest has been held'),
      violations: gauge('violations', '{violation}', 'What does not hold of the books: anything but zero is a defect, of an account or of ours'),
      limit: gauge('capacity.limit', '{permit}', 'What an account has in all, as it is now'),
      used: gauge('capacity.used', '{permit}', 'What is in use of an account'),
      available: gauge('capacity.available', '{permit}', 'What is left of an account; below zero after its limit was lowered'),
      throttle: gauge('capacity.throttle', '1', 'How many times slower than configured an account goes; 1 when nominal'),
      blocked: gauge('capacity.blocked', '1', '1 while an account lets nobody in: closed, or its circuit open'),
      waiters: gauge('capacity.waiters', '{request}', 'Asks that an account holds up'),
    },
  };
}
