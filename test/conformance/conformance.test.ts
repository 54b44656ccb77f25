/** Every scenario that runs, and the traces that were kept, one test each; `npm run conformance` runs other files too. */
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { judge } from './run-scenario.js';
import { entriesOf, type Entry } from './scenario-file.js';
import { scenarioOf } from './scenario.js';

for (const file of ['scenarios.yaml', 'traces.yaml']) {
  const running: { title: string; entry: Entry }[] = [];
  for await (const entry of entriesOf(fileURLToPath(new URL(file, import.meta.url)))) {
    const { manual, id, title } = scenarioOf('value' in entry ? entry.value : entry);
    if (!manual) running.push({ title: `${id}: ${title}`, entry });
  }
  describe(file, () => {
    for (const { title, entry } of running) {
      it(title, () => {
        expect(judge(entry).complaints).toEqual([]);
      });
    }
  });
}
