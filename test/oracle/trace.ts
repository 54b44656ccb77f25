/** A trace before its expectations are known, and how it is written as an entry of a scenario file. */
import type { Move } from './moves.js';
import type { Amounts } from '../conformance/amounts.js';
import type { AccountSpec, Given, WindowSpec } from '../conformance/given.js';
import type { Step } from '../conformance/steps.js';

/** Questions asked after a step, at an instant before the next one, by their keys in the file. */
export interface Asking {
  readonly after: number;
  readonly t: number;
  readonly keys: readonly string[];
}

export interface Trace {
  readonly id: string;
  readonly given: Given;
  readonly steps: readonly Step[];
  readonly askings: readonly Asking[];
  readonly moves: readonly Move[];
}

/** The questions as a scenario file has them, their answers left open. */
export function rawAskings(askings: readonly Asking[]): { t: number; after: number }[] {
  return askings.map(({ t, after, keys }) => ({ t, after, ...Object.fromEntries(keys.map((key) => [key, null])) }));
}

export type Raw = Readonly<Record<string, unknown>>;

export function rawGiven({ accounts, clock, heap }: Given): Raw {
  return { accounts: Object.fromEntries([...accounts].map(([name, spec]) => [name, rawAccount(spec)])), clock, heap };
}

function rawAccount(spec: AccountSpec): string {
  switch (spec.kind) {
    case 'gate':
      return `gate capacity ${spec.capacity}`;
    case 'bucket':
      return `token bucket rpm ${spec.requests} tpm ${spec.tokens} (full)`;
    case 'window':
      return `elastic window base ${spec.baseWindow}ms max ${spec.maxRequests}${rawOptions(spec)}`;
    case 'double':
      return `scripted double, mode ${spec.mode}${spec.giveThrows ? ', give throws' : ''}`;
  }
}

function rawOptions({ initialCooldown, maxCooldown, probeTimeout }: WindowSpec): string {
  const options = [
    ...(initialCooldown === undefined ? [] : [`initial cooldown ${initialCooldown}ms`]),
    ...(maxCooldown === undefined ? [] : [`max cooldown ${maxCooldown}ms`]),
    ...(probeTimeout === undefined ? [] : [`probe timeout ${probeTimeout}ms`]),
  ];
  return options.length === 0 ? '' : ` (${options.join(', ')})`;
}

function rawAmounts(amounts: Amounts): number | readonly number[] {
  return 'units' in amounts ? amounts.units : amounts.list;
}

export function rawStep(step: Step): Raw {
  const { t } = step;
  switch (step.kind) {
    case 'arrive': {
      const need = Object.fromEntries([...step.need].map(([name, amounts]) => [name, rawAmounts(amounts)]));
      const [first = '', last] = [step.jobs[0], step.jobs.at(-1)];
      if (step.jobs.length === 1) return { t, arrive: first, need };
      return { t, arrive: `${first}..${last}`, need, count: step.jobs.length };
    }
    case 'release':
    case 'rollback':
    case 'unsubscribe':
    case 'abortContext':
      return { t, [step.kind]: step.job };
    case 'heap':
      return { t, ...(step.reading === null ? {} : { heap: step.reading }), ...(step.look ? { look: true } : {}) };
    case '429':
    case 'success':
    case 'advisory':
      return { t, [step.kind]: step.account, ...(step.times === 1 ? {} : { times: step.times }) };
    case 'backpressure':
      return {
        t,
        backpressure: step.account,
        increments: step.increments,
        ...(step.times === 1 ? {} : { times: step.times }),
      };
    case 'setConfig':
      return { t, setConfig: step.account, rpm: step.requests, tpm: step.tokens };
    case 'set':
      return {
        t,
        set: step.account,
        ...(step.mode === null ? {} : { mode: step.mode }),
        ...(step.giveThrows === null ? {} : { giveThrows: step.giveThrows }),
      };
    case 'wake':
      return { t, wake: step.account };
    case 'call': {
      const { account, method, mine, reserved } = step.call;
      const ahead = reserved === null ? {} : { reserved: rawAmounts(reserved) };
      return { t, call: `${account}.${method}`, mine: rawAmounts(mine), ...ahead };
    }
    case 'stop':
      return { t, stop: step.what };
    case 'advance':
      return { t, advance: true };
  }
}

/** The key by which a check asks for the answer of a call. */
export function keyOfCall(step: Extract<Step, { kind: 'call' }>): string {
  const { account, method, mine, reserved } = step.call;
  const ahead = reserved === null ? '' : `, reserved ${JSON.stringify(rawAmounts(reserved)).replaceAll(',', ', ')}`;
  return `${account}.${method}(${JSON.stringify(rawAmounts(mine)).replaceAll(',', ', ')}${ahead})`;
}
