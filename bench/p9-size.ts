/** P9: what a start adds to a bundle, minified and gzipped, RxJS aside: size-limit's first entry. */
import { execFileSync } from 'node:child_process';
import { alone, type Row } from './row.js';

const AT_MOST = 9_000;

interface Sized {
  readonly name: string;
  readonly size: number;
}

/** Its exit code tells of the limits in .size-limit.js, which are not what is asked here. */
function sizes(): Sized[] {
  try {
    return JSON.parse(execFileSync('node_modules/.bin/size-limit', ['--json'], { encoding: 'utf8' })) as Sized[];
  } catch (error) {
    return JSON.parse((error as { stdout: string }).stdout) as Sized[];
  }
}

export function* size(): Generator<Row> {
  for (const [index, { name, size: bytes }] of sizes().entries()) {
    const about = { bench: 'P9', what: name, unit: 'bytes' } as const;
    yield alone(about, { name: 'ours', n: 1, perJob: [bytes] }, index === 0 ? AT_MOST : undefined);
  }
}
