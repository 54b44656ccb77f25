/** The other side: the same trace against the real admission, through the runner, and every field of every event besides. */
import type { ModelEvent } from './books.js';
import { expected } from './expectation.js';
import type { Trace } from './trace.js';
import { ask } from '../conformance/ask.js';
import { checksOf } from '../conformance/checks.js';
import { judge } from '../conformance/run-scenario.js';
import { World } from '../conformance/world.js';
import type { AdmissionEvent } from 'rx-admission';

/** Where the two part, the first of each kind; none where they agree. */
export function differences(trace: Trace): readonly string[] {
  const { raw, outcome } = expected(trace);
  const { complaints } = judge({ value: raw });
  if (complaints.length > 0) return complaints;
  const events = silently(() => eventsOf(trace));
  for (const [index, event] of events.entries()) {
    const wanted = outcome.world.line.books.events[index];
    const apart = wanted ? fieldsApart(wanted, event) : 'the model has no such event';
    if (apart !== null)
      return [`event ${index} (${event.at} ${event.type} ${event.account} ${String(event.job)}): ${apart}`];
  }
  return [];
}

/** The run that the runner made, for what its lines do not show. */
function eventsOf({ given, steps, askings }: Trace): readonly AdmissionEvent[] {
  const world = new World({ given, steps });
  const asked = askings.map(({ t, after, keys }) => ({
    t,
    after,
    ...Object.fromEntries(keys.map((key) => [key, null])),
  }));
  const checks = [...checksOf(asked, given, steps)];
  const checkUpTo = (step: number): void => {
    for (let check = checks[0]; check?.when && check.when.after <= step; check = checks[0]) {
      checks.shift();
      world.clock.advanceTo(check.when.t);
      for (const { question } of check.asks) if (question.kind !== 'answer') ask(question, world);
    }
  };
  checkUpTo(0);
  for (const [index, step] of steps.entries()) {
    world.run(step, index + 1);
    checkUpTo(index + 1);
  }
  return world.events;
}

/** A defect is logged, once a run: the runner has counted it. */
function silently<T>(work: () => T): T {
  const { error } = console;
  console.error = () => undefined;
  try {
    return work();
  } finally {
    console.error = error;
  }
}

function fieldsApart(model: ModelEvent, event: AdmissionEvent): string | null {
  const keys = ['category', 'capacity', 'inUse', 'indicator', 'wait'] as const;
  for (const key of keys) {
    // Memory has no amount of its own: what stands there is the gate's business.
    if (model.account === 'memory' && key !== 'category' && key !== 'wait') continue;
    if (model[key] !== event[key]) return `${key}: expected ${String(model[key])}, got ${String(event[key])}`;
  }
  return null;
}
