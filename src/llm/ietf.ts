/** The RateLimit header fields of the IETF's httpapi drafts, in the three shapes that servers send. */
import type { HeaderReader } from './header-reader.js';
import { countOf, type Figures } from './figures.js';
import { parseItems, type Item } from './structured-fields.js';

const SECOND = 1_000;

/** One limit per policy. Drafts 8 on name the policies; draft 7 has one dictionary; drafts up to 6 have three headers. */
export function ietfLimits(read: HeaderReader): Figures[] {
  const policies = parseItems(read('ratelimit-policy') ?? '');
  const state = parseItems(read('ratelimit') ?? '');
  if (state.some(({ parameters }) => parameters.has('r'))) {
    return state.map((item) => named(item, policies.find(({ name }) => name === item.name)));
  }
  const figure = (key: string): string | null =>
    state.find(({ name }) => name === key)?.parameters.get('') ?? read(`ratelimit-${key}`);
  if (figure('limit') === null) return [];
  // A draft-7 policy is `10;w=60`: its quota is its name.
  const window = policies.find(({ name }) => name === figure('limit')) ?? policies[0];
  return [
    {
      period: seconds(window?.parameters.get('w')),
      limit: countOf(figure('limit')),
      remaining: countOf(figure('remaining')),
      resetIn: seconds(figure('reset')),
    },
  ];
}

const named = ({ parameters }: Item, policy: Item | undefined): Figures => ({
  period: seconds(policy?.parameters.get('w')),
  limit: countOf(policy?.parameters.get('q')),
  remaining: countOf(parameters.get('r')),
  resetIn: seconds(parameters.get('t')),
});

function seconds(text: string | null | undefined): number | null {
  const count = countOf(text);
  return count === null ? null : count * SECOND;
}
