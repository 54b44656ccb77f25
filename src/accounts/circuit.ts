/**
 * The circuit of an elastic window: closed (HEALTHY), open (BLOCKED), half-open with one probe out (PROBING).
 *
 * Pure. The classic circuit breaker (M. Nygard, "Release It!", 2007) with a cooldown that doubles.
 */

export interface CircuitRule {
  /** Failures at the throttle's maximum that open it. */
  readonly failuresAtMaxToBlock: number;
  readonly initialCooldown: number;
  readonly maxCooldown: number;
  /** A probe without a verdict is given up after this many ms. */
  readonly probeTimeout: number;
}

interface Opened {
  /** While now < `until` everyone is refused. */
  readonly until: number;
  readonly cooldown: number;
}

export type Circuit =
  | { readonly name: 'HEALTHY'; readonly failuresAtMax: number }
  | (Opened & { readonly name: 'BLOCKED' })
  | (Opened & {
      readonly name: 'PROBING';
      readonly since: number;
      /** The take that claimed the probe; undefined when it came without a receipt. */
      readonly receipt: object | undefined;
      /** Slots that the probe took. */
      readonly slots: number;
    });

export const healthy: Circuit = { name: 'HEALTHY', failuresAtMax: 0 };

const open = (at: number, cooldown: number): Circuit => ({ name: 'BLOCKED', until: at + cooldown, cooldown });

const revert = ({ until, cooldown }: Opened): Circuit => ({ name: 'BLOCKED', until, cooldown });

/** The circuit as it stands at `at`: a probe that said nothing for too long has expired. */
export const circuitAt = (circuit: Circuit, at: number, rule: CircuitRule): Circuit =>
  circuit.name === 'PROBING' && at - circuit.since >= rule.probeTimeout ? revert(circuit) : circuit;

/** Why an asker is turned away at `at`, or null when the circuit lets it through. */
export function turnedAway(
  circuit: Circuit,
  reservedAhead: boolean,
  at: number,
): { readonly why: 'cooldown' | 'probe'; readonly until: number | null } | null {
  switch (circuit.name) {
    case 'HEALTHY':
      return null;
    case 'BLOCKED':
      if (at < circuit.until) return { why: 'cooldown', until: circuit.until };
      // The one probe is the head's, even while the head waits for something else.
      return reservedAhead ? { why: 'probe', until: null } : null;
    case 'PROBING':
      return { why: 'probe', until: null };
  }
}

/** A take went through: after a cooldown it claims the probe. */
export const claimed = (circuit: Circuit, slots: number, at: number, receipt: object | undefined): Circuit =>
  circuit.name === 'BLOCKED'
    ? { name: 'PROBING', until: circuit.until, cooldown: circuit.cooldown, since: at, receipt, slots }
    : circuit;

/** Whether a give is the probe's own; one that shows no receipt counts as the probe's. */
export const ownsProbe = (circuit: Circuit, receipt: object | undefined): boolean =>
  circuit.name === 'PROBING' && (receipt === undefined || receipt === circuit.receipt);

/** The probe's grant was rolled back without a verdict: the cooldown stays as it was. */
export const withdrawn = (circuit: Circuit): Circuit => (circuit.name === 'PROBING' ? revert(circuit) : circuit);

export function failed(circuit: Circuit, throttledToMax: boolean, at: number, rule: CircuitRule): Circuit {
  switch (circuit.name) {
    case 'HEALTHY': {
      // The failure that reaches the maximum counts.
      if (!throttledToMax) return circuit;
      const failuresAtMax = circuit.failuresAtMax + 1;
      return failuresAtMax >= rule.failuresAtMaxToBlock
        ? open(at, rule.initialCooldown)
        : { name: 'HEALTHY', failuresAtMax };
    }
    case 'BLOCKED':
      // Late answers of older calls say nothing new.
      return circuit;
    case 'PROBING':
      return open(at, Math.min(rule.maxCooldown, Math.max(rule.initialCooldown, 2 * circuit.cooldown)));
  }
}

export const succeeded = (circuit: Circuit): Circuit => (circuit.name === 'BLOCKED' ? circuit : healthy);

