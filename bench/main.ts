/** `npm run bench [-- P2 P4] [--json] [--check] [--up-to n] [--peers a,b]`: measures, and says whether what must hold does. */
import { parseArgs } from 'node:util';
import { benches } from './benches.js';
import { cpuClock } from './cpu-time.js';
import { runAlone } from './run-alone.js';
import { holds, toJson, type Row } from './row.js';
import type { Settings } from './settings.js';
import { heading, lineOf } from './table.js';
import { verdictOf } from './verdict.js';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: 'boolean', default: false },
    check: { type: 'boolean', default: false },
    'up-to': { type: 'string', default: '1000000' },
    peers: { type: 'string' },
  },
});

const unknown = positionals.filter((id) => !benches.has(id));
if (unknown.length > 0) throw new Error(`there is no ${unknown.join(', ')}; there are ${[...benches.keys()].join(', ')}`);
const chosen = positionals.length > 0 ? positionals : [...benches.keys()];
const upTo = Number(values['up-to']);
if (!(upTo >= 1_000)) throw new RangeError(`--up-to takes a length of 1000 or more, not ${values['up-to']}`);
const settings: Settings = { upTo, peers: values.peers?.split(',') ?? null };

function show(row: Row): void {
  console.log(values.json ? toJson(row) : lineOf(row));
}

async function run(ids: readonly string[]): Promise<Row[]> {
  const rows: Row[] = [];
  for (const id of ids) {
    await runAlone(id, settings, (row) => {
      rows.push(row);
      show(row);
    });
  }
  return rows;
}

if (!values.json) console.log(`Node ${process.version}, CPU time by ${cpuClock.source}\n\n${heading}`);
const first = await run(chosen);
if (values.check) process.exitCode = await verdictOf(first, run);
else {
  const failed = first.filter((row) => holds(row) === false).length;
  if (!values.json) console.log(`\n${first.length} rows, ${failed} of them do not hold what they must`);
}
