/** A promise of an end that somebody else brings about. */
export class DeferredEnd {
  readonly promise: Promise<void>;
  /** Ends it; again is nothing. */
  readonly end: () => void;

  constructor() {
    let resolve: () => void = () => undefined;
    this.promise = new Promise((resolved) => {
      resolve = resolved;
    });
    this.end = resolve;
  }
}
