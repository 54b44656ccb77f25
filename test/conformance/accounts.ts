/** Builds the accounts of a scenario: shipped ones, and scripted doubles. */
import { CountingGate, ElasticWindow, MemoryGate, TokenBucket, type Account } from 'rx-admission';
import type { SchedulerLike } from 'rxjs';
import type { AccountSpec, Given } from './given.js';
import { ScriptedDouble } from './scripted-double.js';
import { WatchedAccount } from './watched-account.js';

/** Log lines have tests of their own. */
const silent = { warn: (): void => undefined, info: (): void => undefined };

export interface Heap {
  current: number;
}

export function accountsOf(given: Given, scheduler: SchedulerLike): ReadonlyMap<string, WatchedAccount> {
  return new Map([...given.accounts].map(([name, spec]) => [name, new WatchedAccount(build(name, spec, scheduler))]));
}

function build(name: string, spec: AccountSpec, scheduler: SchedulerLike): Account {
  switch (spec.kind) {
    case 'gate':
      return new CountingGate({ name, capacity: spec.capacity, scheduler });
    case 'bucket':
      return new TokenBucket({ name, tokensPerMinute: spec.tokens, requestsPerMinute: spec.requests, scheduler, log: silent });
    case 'window':
      return new ElasticWindow({ ...spec, name, scheduler, log: silent });
    case 'double':
      return new ScriptedDouble(name, spec.mode, spec.giveThrows);
  }
}

/** The real gate over a scripted heap: the first looks read what is given for them, the others `heap.current`. */
export function memoryOf(given: Given, heap: Heap, scheduler: SchedulerLike): WatchedAccount<MemoryGate> {
  const firstLooks = [...given.firstLooks];
  const gate = new MemoryGate({ heap: () => firstLooks.shift() ?? heap.current, collect: false, scheduler, log: silent });
  if (given.heldOnMemory !== null) {
    const held = given.heldOnMemory;
    gate.observeHeld(() => held);
    // In place of the line: what the admission counts is not heard.
    Object.defineProperty(gate, 'observeHeld', { value: () => undefined });
  }
  return new WatchedAccount(gate);
}
