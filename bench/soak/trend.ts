/** Whether a series of heap sizes goes up. */
import { median } from '../row.js';

/** The compiler and the feedback of functions settle in about so much of a run. */
const SETTLING = 1 / 4;
/** What collections leave behind differs by less than that between two looks at a heap that does not grow. */
const NOISE_BYTES = 1e6;

/** The growth from the first third to the last, bytes, once the heap has settled; null where there is too little to tell. */
export function growthOf(heaps: readonly number[]): number | null {
  const settled = heaps.slice(Math.ceil(heaps.length * SETTLING));
  const third = Math.floor(settled.length / 3);
  return third < 2 ? null : median(settled.slice(-third)) - median(settled.slice(0, third));
}

export const isFlat = (growth: number): boolean => growth <= NOISE_BYTES;
