/** What `main.ts` tells the programs, each in its own process: how long the lines may be, and which peers take part. */
import { env } from 'node:process';

/** Lengths of the line, a factor of ten apart. */
const SIZES = [1e3, 1e4, 1e5, 1e6];

export interface Settings {
  /** No line is longer. */
  readonly upTo: number;
  /** Names of peers, as the table has them; null for all. */
  readonly peers: readonly string[] | null;
}

const VARIABLE = 'RX_ADMISSION_BENCH';

export const toEnvironment = (settings: Settings): Record<string, string> => ({ [VARIABLE]: JSON.stringify(settings) });

function fromEnvironment(): Settings {
  const told = env[VARIABLE];
  return told === undefined ? { upTo: 1e6, peers: null } : (JSON.parse(told) as Settings);
}

const { upTo, peers } = fromEnvironment();

export const sizesUpTo = (greatest: number): number[] => SIZES.filter((size) => size <= Math.min(greatest, upTo));

export const isAsked = (peer: string): boolean => peers === null || peers.includes(peer);
