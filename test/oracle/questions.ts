/** What a random trace asks after a step. */
import type { Situation } from './situation.js';

export function questionAt(at: Situation): string {
  const { random } = at;
  const name = random.chance(at.theme === 'memory' ? 0.4 : 0.1) ? 'memory' : random.of([...at.given.accounts.keys()]);
  if (random.chance(0.08)) return `wake slot of ${name}`;
  // Where nothing declines a take, nothing is given back within an attempt: the announcements can be counted.
  if (random.chance(0.1) && at.named('double').length === 0 && name !== 'memory') return `${name}.wakes`;
  if (name === 'memory')
    return `memory.${random.of(['latched', 'floor', 'penalty', 'zone', 'pacingDelayMs', 'heldOnMemory', 'indicator'])}`;
  switch (at.spec(name).kind) {
    case 'gate':
      return `${name}.${random.of(['inUse', 'inUse', 'availablePermits', 'lastActivity'])}`;
    case 'bucket':
      return `${name}.${random.of(['tokens', 'tokens', 'inUse', 'indicator', 'throttle', 'capacity', 'status.availableTokens', 'status.availableRequests'])}`;
    case 'window':
      return `${name}.${random.of(['circuit', 'circuit', 'throttle', 'inUse', 'indicator', 'effectiveWindowMs', 'cooldownRemainingMs', 'availablePermits'])}`;
    case 'double':
      return `${name}.inUse`;
  }
}
