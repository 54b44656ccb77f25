/** A marble test of an admission: RxJS's own `TestScheduler.run`, with an admission on its clock. */
import { CountingGate, createAdmission, type Admission, type AdmissionOptions } from 'rx-admission';
import { TestScheduler, type RunHelpers } from 'rxjs/testing';
import { expect } from 'vitest';

export interface InVirtualTime extends RunHelpers {
  readonly admission: Admission;
  readonly admit: Admission['admit'];
  readonly scheduler: TestScheduler;
  readonly gate: (capacity: number, name?: string) => CountingGate;
  /** Does something at a frame, before whatever a later line of the test puts there. */
  readonly at: (frame: number, work: () => void) => void;
}

export function inVirtualTime(
  body: (marbles: InVirtualTime) => void,
  options: Omit<AdmissionOptions, 'scheduler'> = {},
): void {
  const scheduler = new TestScheduler((actual, expected) => {
    expect(actual).toEqual(expected);
  });
  scheduler.run((helpers) => {
    const admission = createAdmission({ ...options, scheduler });
    body({
      ...helpers,
      admission,
      admit: admission.admit,
      scheduler,
      gate: (capacity, name = 'gate') => new CountingGate({ name, capacity, scheduler }),
      at: (frame, work) => {
        scheduler.schedule(work, frame);
      },
    });
  });
}
