/** Following jobs on a runtime that keeps no asynchronous context, such as a browser. */
import { CountingGate, createAdmission, demand } from 'rx-admission';
import { describe, expect, it, vi } from 'vitest';
import type * as Platform from '../../src/platform/node.js';

vi.mock('#platform', async (original) => ({
  ...(await original<typeof Platform>()),
  contextStorage: () => {
    throw new Error('this runtime keeps no asynchronous context');
  },
}));

describe('nested without an asynchronous context', () => {
  it('follows nobody and harms nobody, and grant.defer still knows its job', async () => {
    const gate = new CountingGate({ name: 'gate', capacity: 2 });
    const admission = createAdmission({ nested: 'refuse' });
    const inUse = await admission.run(demand(gate), (outer) =>
      admission.run(demand(gate), () => {
        outer.defer(demand(gate), () => [1]).subscribe();
        return gate.inUse();
      }),
    );
    expect([inUse, gate.inUse(), admission.check()]).toEqual([2, 0, []]);
  });
});
