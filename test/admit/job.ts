/** A job of a test: it asks at once, keeps its grant until it is told, and remembers what it was answered. */
import type { Admission, AdmitOptions, Demand, Grant } from 'rx-admission';
import { NEVER, type Observable, type Subscription } from 'rxjs';

export class Job {
  /** What it was granted. */
  given: Grant | null = null;
  /** What it was refused with. */
  refusal: unknown = null;
  readonly subscription: Subscription;

  constructor(
    admission: Admission,
    demand: Demand,
    options: AdmitOptions<undefined> = {},
    work: (grant: Grant) => Observable<unknown> = () => NEVER,
  ) {
    this.subscription = admission
      .defer(
        demand,
        (grant) => {
          this.given = grant;
          return work(grant);
        },
        options,
      )
      .subscribe({
        error: (error: unknown) => {
          this.refusal = error;
        },
      });
  }

  get grant(): Grant {
    if (this.given === null) throw new Error('this job was not granted');
    return this.given;
  }

  get state(): 'granted' | 'refused' | 'waiting' {
    if (this.refusal !== null) return 'refused';
    return this.given === null ? 'waiting' : 'granted';
  }

  release(): void {
    this.grant.release();
  }

  unsubscribe(): void {
    this.subscription.unsubscribe();
  }
}
