/** The verdict of three runs: a row that fails in two of them has failed, one bad moment of the machine is forgiven. */
import { holds, type Row } from './row.js';

const keyOf = ({ bench, what, n, peer }: Row): string => [bench, what, n, peer ?? ''].join(' | ');

/** Answers the exit code. The third run is made of those programs alone whose verdict it can still turn. */
export async function verdictOf(
  first: readonly Row[],
  runAgain: (ids: readonly string[]) => Promise<Row[]>,
  say: (line: string) => void = console.error,
): Promise<number> {
  const failures = new Map<string, number>();
  const count = (rows: readonly Row[]): void => {
    for (const row of rows) {
      if (holds(row) === false) failures.set(keyOf(row), (failures.get(keyOf(row)) ?? 0) + 1);
    }
  };
  const idsOf = (rows: readonly Row[]): string[] => [...new Set(rows.map(({ bench }) => bench))];
  count(first);
  say('second run');
  const second = await runAgain(idsOf(first));
  count(second);
  const open = first.filter((row) => failures.get(keyOf(row)) === 1);
  if (open.length > 0) {
    say(`third run, of ${idsOf(open).join(', ')}`);
    count(await runAgain(idsOf(open)));
  }
  const failed = [...failures].filter(([, times]) => times >= 2).map(([key]) => key);
  for (const key of failed) say(`failed twice: ${key}`);
  say(failed.length === 0 ? 'no row failed twice' : `${failed.length} rows failed twice`);
  return failed.length === 0 ? 0 : 1;
}
