/** The programs, by the names that docs/performance.md gives them. */
import { uncontended } from './p1-uncontended.js';
import { contended } from './p2-contended.js';
import { fourAccounts } from './p3-four-accounts.js';
import { release } from './p4-release.js';
import { weighted } from './p5-weighted.js';
import { withdrawal } from './p6-withdrawal.js';
import { heap } from './p7-heap.js';
import { deadlines } from './p8-deadlines.js';
import { size } from './p9-size.js';
import { active } from './p10-active.js';
import type { Bench } from './row.js';

export const benches: ReadonlyMap<string, Bench> = new Map<string, Bench>([
  ['P1', uncontended],
  ['P2', contended],
  ['P3', fourAccounts],
  ['P4', release],
  ['P5', weighted],
  ['P6', withdrawal],
  ['P7', heap],
  ['P8', deadlines],
  ['P9', size],
  ['P10', active],
]);
