/** The conformance runner: `npm run conformance`, or `npm run conformance -- path/to/other.yaml …`. */
import { fileURLToPath } from 'node:url';
import { judge } from './run-scenario.js';
import { entriesOf } from './scenario-file.js';

const OWN = fileURLToPath(new URL('scenarios.yaml', import.meta.url));

async function main(paths: readonly string[]): Promise<void> {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const path of paths.length > 0 ? paths : [OWN]) {
    const ids = new Set<string>();
    let entries = 0;
    try {
      for await (const entry of entriesOf(path)) {
        entries += 1;
        const { id, verdict, complaints } = judge(entry);
        const again = ids.has(id) && verdict !== 'failed' ? [`id: ${id} stands there twice`] : [];
        ids.add(id);
        counts[again.length > 0 ? 'failed' : verdict] += 1;
        report(id, [...complaints, ...again]);
      }
      if (entries === 0) throw new Error('there is no scenario in it');
    } catch (error) {
      counts.failed += 1;
      report(path, [error instanceof Error ? error.message : String(error)]);
    }
  }
  console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
  if (counts.failed > 0) process.exitCode = 1;
}

function report(id: string, complaints: readonly string[]): void {
  if (complaints.length > 0) console.log([`FAILED ${id}`, ...complaints.map((line) => `  ${line}`)].join('\n'));
}

await main(process.argv.slice(2));
