/** What the language of scenario files has no step for: a gate gets another size, or is closed for a while (W16). */
import { CountingGate } from 'rx-admission';
import { ModelGate } from './gate.js';
import type { ModelWorld } from './world.js';
import type { World } from '../conformance/world.js';

/** Made right after a step, at its instant. */
export interface Move {
  readonly after: number;
  readonly gate: string;
  readonly to: number | 'pause' | 'resume';
}

/** More wakes the line; less refuses at once who can never fit any more. */
export function moveInModel({ gate: name, to }: Move, { line, account }: ModelWorld): void {
  const gate = account(name);
  if (!(gate instanceof ModelGate)) throw new Error(`${name} is no gate`);
  const grows = typeof to === 'number' ? to > gate.capacity : to === 'resume' && gate.paused;
  const shrinks = typeof to === 'number' ? to < gate.capacity : to === 'pause';
  if (typeof to === 'number') gate.capacity = to;
  else gate.paused = to === 'pause';
  if (grows) gate.wake();
  if (shrinks) line.shrank(gate);
}

export function moveInReal({ gate: name, to }: Move, world: World): void {
  const gate = world.watched(name).account;
  if (!(gate instanceof CountingGate)) throw new Error(`${name} is no gate`);
  if (typeof to === 'number') gate.resize(to);
  else if (to === 'pause') gate.pause();
  else gate.resume();
}
