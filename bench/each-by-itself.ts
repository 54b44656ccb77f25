/** Times single steps by the wall clock: a step of microseconds is too short for the CPU clock, and its median forgives preemption. */
import type { Series } from './measure.js';

/** Runs `step` so many times, and answers what each took, ns. */
export function eachByItself(name: string, n: number, steps: number, step: (index: number) => void): Series {
  const perJob: number[] = [];
  for (let index = 0; index < steps; index += 1) {
    const began = performance.now();
    step(index);
    perJob.push((performance.now() - began) * 1e6);
  }
  return { name, n, perJob };
}
