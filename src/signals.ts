/** Abort signals: one listener per signal, however many asks share it, and none once they are over. */

export class Signals<Member> {
  readonly #watched = new Map<AbortSignal, { readonly members: Set<Member>; readonly listener: () => void }>();
  readonly #aborted: (members: readonly Member[], reason: unknown) => void;

  /** `aborted` gets all members of a signal at once, so that none is let in by its sibling's leaving. */
  constructor(aborted: (members: readonly Member[], reason: unknown) => void) {
    this.#aborted = aborted;
  }

  watch(signal: AbortSignal, member: Member): void {
    let watched = this.#watched.get(signal);
    if (watched === undefined) {
      const members = new Set<Member>();
      const listener = (): void => {
        this.#watched.delete(signal);
        this.#aborted([...members], signal.reason);
      };
      watched = { members, listener };
      this.#watched.set(signal, watched);
      signal.addEventListener('abort', listener, { once: true });
    }
    watched.members.add(member);
  }

  unwatch(signal: AbortSignal, member: Member): void {
    const watched = this.#watched.get(signal);
    if (watched === undefined) return;
    watched.members.delete(member);
    if (watched.members.size > 0) return;
    this.#watched.delete(signal);
    signal.removeEventListener('abort', watched.listener);
  }
}
