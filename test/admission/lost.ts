/** What becomes of grants that were dropped: run with --expose-gc, and told on stdout. */
import { setImmediate as turn } from 'node:timers/promises';
import { CountingGate, createAdmission, demand, type AdmissionWarning, type Grant, type LostGrants } from 'rx-admission';

const [, , mode = 'recover'] = process.argv;
const { gc } = globalThis as unknown as { readonly gc: () => void };
const say = (fact: unknown): void => {
  console.log(JSON.stringify(fact));
};
const gate = new CountingGate({ name: 'gate', capacity: 3 });
const admission = createAdmission({
  lostGrants: mode as LostGrants,
  trace: mode === 'recover',
  log: { warn: () => undefined },
});
const warnings: AdmissionWarning[] = [];
admission.warnings$.subscribe((warning) => warnings.push(warning));

/** Collections until the registry has told, or for as many turns as it never needs. */
async function collected(isEnough: () => boolean): Promise<void> {
  for (let turns = 0; turns < 200 && !isEnough(); turns += 1) {
    gc();
    await turn();
  }
}

const kept: Grant[] = [];
const signals: AbortSignal[] = [];
async function take(): Promise<void> {
  kept.push(await admission.acquire(demand(gate), { job: 'kept' }));
  signals.push((await admission.acquire(demand(gate), { job: 'dropped' })).signal);
  admission.tryAcquire(demand(gate), { job: 'tried' });
  const settled = await admission.acquire(demand(new CountingGate({ name: 'other', capacity: 1 })), { job: 'settled' });
  settled.release();
}
await take();
const waiting = admission.acquire(demand(gate), { job: 'waiting' });
say({ inUse: gate.inUse(), queueSize: admission.queueSize });
await collected(() => warnings.length >= 2);
for (const warning of warnings.toSorted((one, other) => one.type.localeCompare(other.type) || one.message.localeCompare(other.message))) {
  if (warning.type !== 'LOST_GRANT') continue;
  const { job, demand: of, recovered, trace } = warning;
  say({ job, of: of.entries.map(({ account }) => account.name), recovered, tracesIt: trace?.includes('take') ?? null });
}
say({ inUse: gate.inUse(), queueSize: admission.queueSize, aborted: signals[0]?.aborted });
if (mode === 'recover') (await waiting).release();
for (const grant of kept) grant.release();
say({ inUse: gate.inUse(), warnings: warnings.length });
if (mode !== 'recover') admission.stop();
await waiting.catch(() => undefined);
