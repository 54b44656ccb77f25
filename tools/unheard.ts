/**
 * `npm run bench:unheard`: what a grant pays for its messages on `diagnostics_channel` while nobody listens. V8 may inline
 * nothing (the script in package.json tells it so): the most that it can be, since in an admission such calls are inlined.
 */
import { Diagnostics } from '../src/diagnostics.js';
import { Outbox } from '../src/outbox.js';
import { median } from '../bench/row.js';

const GRANTS = 20_000_000;
const AT_MOST_NS = 10;

type Told = Pick<Diagnostics, 'granted' | 'settled'>;
type Ask = Parameters<Told['granted']>[0];

/** The same loop without the calls is taken off. */
function nsOf(told: Told | null, ask: Ask): number {
  const began = performance.now();
  for (let at = 0; at < GRANTS; at += 1) {
    told?.granted(ask);
    told?.settled(ask, 'release', 'success', at);
  }
  return ((performance.now() - began) * 1e6) / GRANTS;
}

const told = new Diagnostics({ name: 'nobody listens' }, new Outbox());
const ask = {} as Ask;
nsOf(told, ask);
const extra = Array.from({ length: 7 }, () => nsOf(told, ask) - nsOf(null, ask));
const most = median(extra);
console.log(`${most.toFixed(1)} ns a grant (${Math.min(...extra).toFixed(1)} at least), where ${String(AT_MOST_NS)} are allowed`);
process.exitCode = most < AT_MOST_NS ? 0 : 1;
