/** P3: P2 with a demand over four accounts, two gates, a bucket and a window, against P2 itself. */
import { CountingGate, demand, ElasticWindow, TokenBucket, type Demand } from 'rx-admission';
import { admitted, AT_ONCE } from './contended.js';
import { takeTurns, type Series } from './measure.js';
import { beside, type Row } from './row.js';
import { sizesUpTo } from './settings.js';

const AT_MOST = 2.5;
/** Wide enough never to be short, so that both lines move alike: what is measured is the asking and the debiting. */
const WIDE = 1e9;

const one = (): Demand => demand(new CountingGate({ name: 'gate', capacity: AT_ONCE }));

function four(): Demand {
  const connections = new CountingGate({ name: 'connections', capacity: WIDE });
  const bucket = new TokenBucket({ name: 'bucket', tokensPerMinute: WIDE, requestsPerMinute: WIDE });
  const window = new ElasticWindow({ name: 'window', maxRequests: WIDE, baseWindow: 1_000 });
  return one().add(connections).add(bucket).add(window);
}

export async function* fourAccounts(): AsyncGenerator<Row> {
  for (const n of sizesUpTo(1e6)) {
    const lanes = [admitted('ours', four(), n), admitted('ours, one account', one(), n)];
    const [whole, single] = (await takeTurns(lanes)) as [Series, Series];
    yield beside({ bench: 'P3', what: 'four accounts' }, whole, single, AT_MOST);
  }
}
