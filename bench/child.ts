/** Runs one program in this process and writes each of its rows as JSON, for `main.ts` to read. */
import { benches } from './benches.js';

const id = process.argv[2] ?? '';
const bench = benches.get(id);
if (bench === undefined) throw new Error(`there is no benchmark ${id}`);
for await (const row of bench()) console.log(JSON.stringify(row));
// Whoever is parked for ever keeps nothing alive; a peer's timer might.
process.exit(0);
