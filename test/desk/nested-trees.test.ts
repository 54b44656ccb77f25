/** Random trees of jobs over one account, each asking again inside itself: all of them end, whatever the capacity. */
import fc from 'fast-check';
import { CountingGate, createAdmission, demand, type Admission, type Grant } from 'rx-admission';
import { firstValueFrom } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { setImmediate as turn } from 'node:timers/promises';

const RUNS = Number(process.env.PROPERTY_RUNS ?? 100);

interface Tree {
  readonly needs: boolean;
  readonly order: 'one by one' | 'side by side';
  readonly inside: readonly Tree[];
}

const { tree } = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.record({
    needs: fc.boolean(),
    order: fc.constantFrom('one by one' as const, 'side by side' as const),
    inside: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      fc.constant([]),
      fc.array(tie('tree'), { minLength: 1, maxLength: 3 }),
    ),
  }),
}));

const sizeOf = ({ inside }: Tree): number => inside.reduce((sum, each) => sum + sizeOf(each), 1);

/** Runs the tree; `told` asks by the grant of the job, and otherwise the context tells whose part it is. */
function runner(admission: Admission, gate: CountingGate, way: 'told' | 'followed') {
  const state = { ran: 0, most: 0 };
  const work = async (node: Tree, grant: Grant): Promise<void> => {
    state.most = Math.max(state.most, gate.inUse());
    await turn();
    if (node.order === 'one by one') for (const each of node.inside) await run(each, grant);
    else await Promise.all(node.inside.map((each) => run(each, grant)));
    state.ran += 1;
  };
  const run = (node: Tree, around: Grant | null): Promise<void> => {
    const needs = node.needs ? demand(gate) : demand();
    if (around === null || way === 'followed') return admission.run(needs, (grant) => work(node, grant));
    return firstValueFrom(around.defer(needs, (grant) => work(node, grant)));
  };
  return { state, run };
}

describe('trees of jobs', () => {
  it.each(['told', 'followed'] as const)('all end on any capacity, and nothing is overdrawn or left: %s', async (way) => {
    await fc.assert(
      fc.asyncProperty(fc.array(tree, { minLength: 1, maxLength: 4 }), fc.integer({ min: 1, max: 3 }), async (trees, capacity) => {
        const gate = new CountingGate({ name: 'gate', capacity });
        const admission = createAdmission({ nested: way === 'followed' ? 'lend' : 'off' });
        const { state, run } = runner(admission, gate, way);
        const all = Promise.all(trees.map((each) => run(each, null)));
        const size = trees.reduce((sum, each) => sum + sizeOf(each), 0);
        // Each job takes a turn or two; a line that hangs has none left.
        for (let turns = 0; turns < 20 * size && state.ran < size; turns += 1) await turn();
        expect([state.ran, state.most <= capacity]).toEqual([size, true]);
        await all;
        await turn();
        expect([gate.inUse(), admission.queueSize, admission.check()]).toEqual([0, 0, []]);
      }),
      { numRuns: RUNS },
    );
  });
});
