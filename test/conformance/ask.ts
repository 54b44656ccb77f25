/** Puts the question of a check to whom it is about. */
import { ElasticWindow, MemoryGate, TokenBucket, type Account } from 'rx-admission';
import type { Question } from './question.js';
import type { WatchedAccount } from './watched-account.js';
import type { World } from './world.js';

/** @throws Error when there is no such answer. */
export function ask(question: Exclude<Question, { kind: 'answer' }>, world: World): unknown {
  switch (question.kind) {
    case 'queueSize':
      return world.admission.queueSize;
    case 'nextDeadline':
      return world.admission.nextDeadline;
    case 'questions':
      return world.watched(question.account).questions;
    case 'wake slot':
      return world.watched(question.account).hooked ? 'hooked' : null;
    case 'property': {
      const { account, path } = question;
      const [first = '', ...rest] = path;
      let value = propertyOf(world.watched(account), first, world.now);
      for (const key of rest) value = memberOf(value, key);
      return value;
    }
    case 'grant':
      return aboutGrant(question.job, question.about, world);
  }
}

function aboutGrant(job: string, about: 'wallWaitMs' | 'waitTimesMs' | 'isEmpty', world: World): unknown {
  const grant = world.jobs.grantOf(job);
  if (!grant) throw new Error(`${job} has no grant`);
  switch (about) {
    case 'wallWaitMs':
      return grant.wallWait;
    case 'waitTimesMs':
      return Object.fromEntries(grant.waitTimes);
    case 'isEmpty':
      return grant.isEmpty;
  }
}

function propertyOf(watched: WatchedAccount, property: string, at: number): unknown {
  const { account } = watched;
  switch (property) {
    case 'inUse':
      return account.inUse(at);
    case 'capacity':
      return account.capacity;
    case 'category':
      return account.category;
    case 'replenishment':
      return account.replenishment;
    case 'wakes':
      return watched.wakes;
    case 'takes':
      return watched.takes;
    case 'indicator':
      return account.statusIndicator?.(at) ?? null;
    case 'status':
      return account.status?.(at);
    default:
      return ofItsKind(account, property, at);
  }
}

function ofItsKind(account: Account, property: string, at: number): unknown {
  if (account instanceof TokenBucket) {
    if (property === 'tokens') return account.tokens(at);
    if (property === 'throttle') return account.throttle;
  }
  if (account instanceof ElasticWindow && property === 'cooldownRemainingMs') return account.cooldownRemainingMs(at);
  if (account instanceof MemoryGate) {
    if (property === 'latched') return account.latched;
    if (property === 'floor') return account.status(at).floorRatio;
    if (property === 'penalty') return account.status(at).growthPenalty;
  }
  return memberOf(account.status?.(at), property);
}

function memberOf(value: unknown, key: string): unknown {
  if (typeof value === 'object' && value !== null && key in value && !(key in Object.prototype)) {
    const member: unknown = value[key as keyof typeof value];
    if (typeof member !== 'function') return member;
  }
  throw new Error(`nothing there is called ${JSON.stringify(key)}`);
}
