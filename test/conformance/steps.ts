/** Reads what happens in a scenario, step by step. */
import { amountsAt, type Amounts } from './amounts.js';
import {
  NotUnderstood,
  countAt,
  flagAt,
  listAt,
  mapAt,
  numberAt,
  onlyKeys,
  onlyTrueAt,
  show,
  textAt,
  type Fields,
} from './fields.js';
import { modeAt, type Given } from './given.js';
import { namesOf } from './names.js';
import type { Action, Method, Step } from './step.js';

export type { Action, Call, Method, Step } from './step.js';

type AccountKind = 'gate' | 'bucket' | 'window' | 'double';

const METHODS: readonly Method[] = ['fits', 'tryTake', 'give', 'earliestFit'];

export function stepsOf(value: unknown, given: Given): readonly Step[] {
  const steps = listAt(value, 'steps').map((entry, index) => mapAt(entry, `step ${index + 1}`));
  const arrived = new Set<string>();
  const ever = new Set(steps.flatMap(({ arrive }) => (typeof arrive === 'string' ? namesOf(arrive, 'arrive') : [])));
  let now = given.clock;
  return steps.map((fields, index) => {
    const where = `step ${index + 1}`;
    const t = numberAt(fields.t, `${where}.t`);
    if (t < now) throw new NotUnderstood(`${where}.t: ${t} is before ${now}`);
    now = t;
    const action = new StepReader(fields, where, given, arrived, ever).action();
    return { ...action, t };
  });
}

class StepReader {
  constructor(
    readonly fields: Fields,
    private readonly where: string,
    private readonly given: Given,
    private readonly arrived: Set<string>,
    private readonly ever: ReadonlySet<string>,
  ) {}

  action(): Action {
    const kinds = Object.keys(ACTIONS).filter((kind) => this.fields[kind] !== undefined);
    const [kind, another] = kinds;
    if (kind === undefined) {
      if (this.fields.look !== undefined) return this.heap();
      throw new NotUnderstood(`${this.where}: does nothing that is known, its keys are ${show(Object.keys(this.fields))}`);
    }
    if (another !== undefined) throw new NotUnderstood(`${this.where}: does both ${kind} and ${another}`);
    const read = ACTIONS[kind as keyof typeof ACTIONS];
    return read(this);
  }

  only(...keys: string[]): void {
    onlyKeys(this.fields, ['t', ...keys], this.where);
  }

  at(key: string): string {
    return `${this.where}.${key}`;
  }

  text(key: string): string {
    return textAt(this.fields[key], this.at(key));
  }

  number(key: string): number {
    return numberAt(this.fields[key], this.at(key));
  }

  times(): number {
    return this.fields.times === undefined ? 1 : countAt(this.fields.times, this.at('times'));
  }

  account(key: string, ...kinds: AccountKind[]): string {
    const name = this.text(key);
    const spec = this.given.accounts.get(name);
    if (!spec) throw new NotUnderstood(`${this.at(key)}: there is no account ${show(name)}`);
    if (kinds.length > 0 && !kinds.includes(spec.kind)) {
      throw new NotUnderstood(`${this.at(key)}: a ${spec.kind} cannot do that`);
    }
    return name;
  }

  anyAccount(key: string): string {
    return this.fields[key] === 'memory' ? 'memory' : this.account(key);
  }

  job(key: string): string {
    const name = this.text(key);
    // A context can be cancelled before its job asks; nothing else can be done to a job that has not arrived.
    const known = key === 'abortContext' ? this.ever : this.arrived;
    if (!known.has(name)) throw new NotUnderstood(`${this.at(key)}: no job ${show(name)} has arrived yet`);
    return name;
  }

  arrive(): Action {
    this.only('arrive', 'need', 'count');
    const jobs = namesOf(this.text('arrive'), this.at('arrive'));
    const count = this.fields.count === undefined ? jobs.length : countAt(this.fields.count, this.at('count'));
    if (count !== jobs.length) throw new NotUnderstood(`${this.at('count')}: ${count}, but ${jobs.length} arrive`);
    for (const job of jobs) {
      if (this.arrived.has(job)) throw new NotUnderstood(`${this.at('arrive')}: ${job} arrives twice`);
      this.arrived.add(job);
    }
    const need = new Map<string, Amounts>();
    for (const [account, amounts] of Object.entries(mapAt(this.fields.need, this.at('need')))) {
      if (!this.given.accounts.has(account)) throw new NotUnderstood(`${this.at('need')}: there is no account ${show(account)}`);
      if (Array.isArray(amounts) && amounts.length === 0) throw new NotUnderstood(`${this.at('need')}.${account}: asks for nothing`);
      need.set(account, amountsAt(amounts, `${this.at('need')}.${account}`));
    }
    return { kind: 'arrive', jobs, need };
  }

  heap(): Action {
    this.only('heap', 'look');
    const reading = this.fields.heap === undefined ? null : this.number('heap');
    return { kind: 'heap', reading, look: this.fields.look !== undefined && onlyTrueAt(this.fields.look, this.at('look')) };
  }

  set(): Action {
    this.only('set', 'mode', 'giveThrows');
    const { mode, giveThrows } = this.fields;
    if (mode === undefined && giveThrows === undefined) throw new NotUnderstood(`${this.where}: sets nothing`);
    return {
      kind: 'set',
      account: this.account('set', 'double'),
      mode: mode === undefined ? null : modeAt(mode, this.at('mode')),
      giveThrows: giveThrows === undefined ? null : flagAt(giveThrows, this.at('giveThrows')),
    };
  }

  stop(): Action {
    this.only('stop');
    const what = this.text('stop');
    if (what !== 'admission' && what !== 'memory') throw new NotUnderstood(`${this.at('stop')}: cannot stop ${show(what)}`);
    return { kind: 'stop', what };
  }

  call(): Action {
    this.only('call', 'mine', 'reserved');
    const text = this.text('call');
    if (text === 'memory.stop') {
      this.only('call');
      return { kind: 'stop', what: 'memory' };
    }
    const dot = text.lastIndexOf('.');
    const account = text.slice(0, dot);
    const method = METHODS.find((known) => known === text.slice(dot + 1));
    if (account !== 'memory' && !this.given.accounts.has(account)) {
      throw new NotUnderstood(`${this.at('call')}: there is no account ${show(account)}`);
    }
    if (method === undefined) throw new NotUnderstood(`${this.at('call')}: unknown call ${show(text)}`);
    if (method === 'give') this.only('call', 'mine');
    const { mine, reserved } = this.fields;
    return {
      kind: 'call',
      call: {
        account,
        method,
        mine: amountsAt(mine, this.at('mine')),
        reserved: reserved === undefined ? null : amountsAt(reserved, this.at('reserved')),
      },
    };
  }
}

type Reading = (step: StepReader) => Action;

function onJob(kind: 'release' | 'rollback' | 'unsubscribe' | 'abortContext'): Reading {
  return (step) => {
    step.only(kind);
    return { kind, job: step.job(kind) };
  };
}

function signal(kind: '429' | 'success' | 'advisory', ...kinds: AccountKind[]): Reading {
  return (step) => {
    step.only(kind, 'times');
    return { kind, account: step.account(kind, ...kinds), times: step.times() };
  };
}

/** One key names what a step does; the others say with what. */
const ACTIONS = {
  arrive: (step: StepReader) => step.arrive(),
  release: onJob('release'),
  rollback: onJob('rollback'),
  unsubscribe: onJob('unsubscribe'),
  abortContext: onJob('abortContext'),
  heap: (step: StepReader) => step.heap(),
  '429': signal('429', 'bucket', 'window', 'gate'),
  success: signal('success', 'bucket', 'window', 'gate'),
  advisory: signal('advisory', 'window'),
  backpressure: (step: StepReader): Action => {
    step.only('backpressure', 'increments', 'times');
    const account = step.account('backpressure', 'bucket');
    return { kind: 'backpressure', account, increments: step.number('increments'), times: step.times() };
  },
  setConfig: (step: StepReader): Action => {
    step.only('setConfig', 'rpm', 'tpm');
    const account = step.account('setConfig', 'bucket');
    return { kind: 'setConfig', account, requests: step.number('rpm'), tokens: step.number('tpm') };
  },
  set: (step: StepReader) => step.set(),
  wake: (step: StepReader): Action => {
    step.only('wake');
    return { kind: 'wake', account: step.anyAccount('wake') };
  },
  call: (step: StepReader) => step.call(),
  stop: (step: StepReader) => step.stop(),
  advance: (step: StepReader): Action => {
    step.only('advance');
    onlyTrueAt(step.fields.advance, step.at('advance'));
    return { kind: 'advance' };
  },
} satisfies Record<string, Reading>;
