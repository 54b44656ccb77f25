/** What the tests of an admission happen to: a clock, a gate, an admission, and what it tells. */
import { CountingGate, createAdmission, demand, type Admission, type AdmissionEvent, type AdmissionOptions } from 'rx-admission';
import { CountingScheduler } from '../admit/counting-scheduler.js';
import { Job } from '../admit/job.js';

export interface Scene {
  readonly clock: CountingScheduler;
  readonly admission: Admission;
  readonly slot: CountingGate;
  /** Every event, a line each. */
  readonly events: string[];
  readonly gate: (name: string, capacity: number) => CountingGate;
  /** Asks for permits of the slot, under a name. */
  readonly ask: (job: string, permits?: number) => Job;
}

export function scene(capacity = 1, options: Omit<AdmissionOptions, 'scheduler'> = {}): Scene {
  const clock = new CountingScheduler();
  const admission = createAdmission({ ...options, scheduler: clock });
  const slot = new CountingGate({ name: 'slot', capacity, scheduler: clock });
  const events: string[] = [];
  admission.events$.subscribe((event) => events.push(lineOf(event)));
  return {
    clock,
    admission,
    slot,
    events,
    gate: (name, size) => new CountingGate({ name, capacity: size, scheduler: clock }),
    ask: (job, permits = 1) => new Job(admission, demand([slot, permits]), { job }),
  };
}

/** As the conformance scenarios spell an event. */
export function lineOf({ at, type, account, job, waiters, amount, wait, reason }: AdmissionEvent): string {
  const parts = [`${at} ${type} ${account} ${String(job)} waiters=${waiters} amount=${amount}`];
  if (type === 'GRANTED_FROM_HOLD' || type === 'REJECTED') parts.push(`wait=${wait}`);
  if (reason !== null) parts.push(`reason=${reason}`);
  return parts.join(' ');
}
