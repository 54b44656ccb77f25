/** Runs a marble scenario against the library in virtual time; throws where something else happens than it says. */
import { catchError, of, pipe, repeat, retry, tap, throwError, type Observable, type ObservableInput } from 'rxjs';
import { AdmissionError, CountingGate, Demand, UpstreamFailure, type Grant } from 'rx-admission';
import { admissionMarbles, type AdmissionMarbles } from 'rx-admission/testing';
import type { AccountPlan, DemandPlan, Verb } from './plans.js';
import type { Caller, Scenario, Work } from './scenario.js';

type Accounts = ReadonlyMap<string, ReturnType<AdmissionMarbles['gate' | 'bucket' | 'window']>>;
type Start = (grant: Grant) => ObservableInput<string>;

/** Everything that the scenario says, compared exactly: outputs, subscriptions, events, errors. */
export function runScenario(scenario: Scenario): void {
  const { frame, maxWaiters } = scenario;
  admissionMarbles({ frame, ...(maxWaiters === undefined ? {} : { maxWaiters }) }, (marbles) => {
    const { heap, actions, events, expectObservable } = marbles;
    const accounts: Accounts = new Map(scenario.accounts.map((plan) => [plan.name, accountOf(plan, marbles)]));
    if (scenario.heap) heap(scenario.heap.line.marbles, Object.fromEntries(scenario.heap.shares));
    if (scenario.actions) {
      const verbs: Record<string, () => void> = {};
      for (const [letter, verb] of scenario.actions.verbs) verbs[letter] = () => act(verb, accounts, marbles);
      actions(scenario.actions.line.marbles, verbs);
    }
    for (const line of scenario.events) expectObservable(events({ name: line.subject })).toBe(line.marbles);
    const start = works(scenario.work, accounts, marbles);
    for (const caller of scenario.callers) {
      const { line, error } = caller.output;
      const out = asks(caller, accounts, marbles, start).pipe(
        catchError((thrown: unknown) => throwError(() => new Error(describe(thrown)))),
      );
      expectObservable(out, caller.consumer).toBe(line.marbles, undefined, new Error(error));
    }
  });
}

/** How an expected error is written: its class, reason and account, or the user's own error as it is. */
const describe = (error: unknown): string =>
  error instanceof AdmissionError
    ? [error.constructor.name, error.reason, ...(error.account === undefined ? [] : ['on', error.account])].join(' ')
    : String(error);

function accountOf(plan: AccountPlan, { gate, bucket, window }: AdmissionMarbles) {
  switch (plan.kind) {
    case 'gate':
      return gate(plan.name, plan.capacity);
    case 'bucket':
      return bucket(plan.name, plan.tokens, { requestsPerMinute: plan.requests });
    case 'window': {
      const opens = plan.circuit && { maxThrottle: 1, failuresAtMaxToBlock: 1, initialCooldown: plan.circuit.cooldown };
      return window(plan.name, plan.requests, plan.length, opens);
    }
  }
}

function act(verb: Verb, accounts: Accounts, { admission, scheduler }: AdmissionMarbles): void {
  if (verb.verb === 'stop') {
    admission.stop();
    return;
  }
  const account = accounts.get(verb.account);
  if (verb.verb === 'failure' && account !== undefined && !(account instanceof CountingGate)) {
    const failure = new UpstreamFailure({ status: 429, service: verb.account, detail: 'slow down' });
    account.onRateLimitError(failure, scheduler.now());
  } else if (verb.verb === 'failure' || !(account instanceof CountingGate)) {
    throw new Error(`nobody can ${verb.verb} ${verb.account}`);
  } else if (verb.verb === 'resize') account.resize(verb.capacity);
  else account[verb.verb]();
}

/** What starts the work of a letter: its next attempt, or its only one again. */
function works(all: readonly Work[], accounts: Accounts, marbles: AdmissionMarbles): (letter: string) => Start {
  const attempts = new Map<string, Start[]>();
  for (const work of all) {
    const started = work.line.kind === 'promise' ? promiseOf(work, marbles) : coldOf(work, accounts, marbles);
    attempts.set(work.letter, [...(attempts.get(work.letter) ?? []), started]);
  }
  return (letter) => (grant) => {
    const left = attempts.get(letter) ?? [];
    const next = left.length > 1 ? left.shift() : left[0];
    if (next === undefined) throw new Error(`nothing to run for "${letter}"`);
    return next(grant);
  };
}

function coldOf(work: Work, accounts: Accounts, { cold, expectSubscriptions }: AdmissionMarbles): Start {
  const inner = cold(work.line.marbles, undefined, work.error);
  expectSubscriptions(inner.subscriptions).toBe(work.subs.map(({ marbles }) => marbles));
  return (grant) =>
    inner.pipe(
      tap((letter) => {
        const charge = work.charges.get(letter);
        const account = charge && accounts.get(charge.account);
        if (charge && account) grant.charge(account, charge.amount);
      }),
    );
}

/** A promise has no subscriptions; what is expected of it is when it began and when it settles. */
function promiseOf(work: Work, { promise, scheduler, time, expectSubscriptions }: AdmissionMarbles): Start {
  const lasts = time(work.line.marbles.replace(/\(.\|\)|#/, '|'));
  const begun: { subscribedFrame: number; unsubscribedFrame: number }[] = [];
  expectSubscriptions(begun).toBe(work.subs.map(({ marbles }) => marbles));
  return () => {
    begun.push({ subscribedFrame: scheduler.now(), unsubscribedFrame: scheduler.now() + lasts });
    return promise(work.line.marbles, undefined, work.error);
  };
}

function asks(
  caller: Caller,
  accounts: Accounts,
  { admission, hot, signal, expectSubscriptions }: AdmissionMarbles,
  start: (letter: string) => Start,
): Observable<string> {
  const wanted = (letter: string): Demand => demandOf(caller.demands.get(letter) ?? [], accounts);
  const { maxWait, onRefused } = caller;
  const options = {
    job: caller.name,
    ...(maxWait === undefined ? {} : { maxWait }),
    ...(caller.signal === undefined ? {} : { signal: signal(caller.signal) }),
    ...(onRefused === undefined ? {} : { onRefused: () => of(onRefused) }),
  };
  if (caller.line.kind === 'source') {
    const source = hot(caller.line.marbles);
    if (caller.subs.length > 0)
      expectSubscriptions(source.subscriptions).toBe(caller.subs.map(({ marbles }) => marbles));
    return source.pipe(admission.admit(wanted, (letter, grant) => start(letter)(grant), options));
  }
  const call = admission.defer(wanted(caller.name), start(caller.name), options);
  return call.pipe(
    caller.retry === undefined ? pipe() : retry(caller.retry),
    caller.repeat === undefined ? pipe() : repeat(caller.repeat),
  );
}

const demandOf = (plan: DemandPlan, accounts: Accounts): Demand =>
  plan.reduce((demand, { account, amount }) => {
    const found = accounts.get(account);
    if (found === undefined) throw new Error(`no account is called "${account}"`);
    return demand.add(found, amount);
  }, Demand.empty);
