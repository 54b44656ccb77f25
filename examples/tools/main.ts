/** A stream of tool calls over several accounts: each names all it needs, and gets all of it or waits with nothing. */
import { from, lastValueFrom, map, timer, toArray } from 'rxjs';
import {
  CountingGate,
  DatabaseGate,
  ElasticWindow,
  HttpGate,
  TokenBucket,
  createAdmission,
  demand,
  type Demand,
} from 'rx-admission';

const http = new HttpGate({ capacity: 3 });
const database = new DatabaseGate({ name: 'orders', capacity: 1 });
const browser = new CountingGate({ name: 'browser', capacity: 1 });
const search = new ElasticWindow({ name: 'search', maxRequests: 2, baseWindow: 200 });
const model = new TokenBucket({ name: 'gpt-5', tokensPerMinute: 600_000 });

/** What each tool needs. A window asks for its HTTP connection by itself, so `search` does not name one. */
const needs: Record<string, (tokens: number) => Demand> = {
  search: () => demand(search),
  read: () => demand(http, browser),
  query: () => demand(database),
  // Reads orders and asks a model about them, in one call: three accounts of three kinds.
  audit: (tokens) => demand([model, tokens], database, http),
};

interface ToolCall {
  readonly tool: string;
  readonly tokens: number;
  readonly takes: number;
}

const call = (tool: string, takes: number, tokens = 0): ToolCall => ({ tool, tokens, takes });
const calls = [
  call('query', 90),
  call('audit', 60, 40_000),
  call('read', 60),
  call('search', 30),
  call('query', 30),
  call('search', 30),
  call('read', 30),
  call('search', 30),
  call('audit', 30, 20_000),
];

const admission = createAdmission({ http });
const most = new Map<string, { inUse: number; capacity: number }>();
admission.events$.subscribe(({ type, account, inUse, capacity, category }) => {
  if (category === 'token_bucket' || !type.startsWith('GRANTED')) return;
  most.set(account, { inUse: Math.max(inUse, most.get(account)?.inUse ?? 0), capacity });
});

const started: string[] = [];
const ended = await lastValueFrom(
  from(calls.map((one, index) => ({ ...one, name: `${one.tool} ${index + 1}` }))).pipe(
    admission.admit(
      ({ tool, tokens }) => needs[tool]?.(tokens) ?? demand(),
      ({ name, takes }, grant) => {
        started.push(name);
        const after = [...grant.waitTimes.keys()].join(', ');
        console.log(`${name.padEnd(9)} starts${after === '' ? '' : `, after it waited for ${after}`}`);
        return timer(takes).pipe(map(() => name));
      },
    ),
    toArray(),
  ),
  { defaultValue: [] },
);

console.log();
for (const [account, { inUse, capacity }] of most) console.log(`${account}: at most ${inUse} of ${capacity} in use`);

// `audit 2` waits for the database behind `query 1`; `read 3` and `search 4` need nothing it is short of, and pass it.
const isBefore = (one: string, other: string): boolean => started.indexOf(one) < started.indexOf(other);
const passed = isBefore('read 3', 'audit 2') && isBefore('search 4', 'audit 2');
// `query 5` needs the database as well: it may not overtake.
const protectedHead = isBefore('audit 2', 'query 5');
const within = [...most.values()].every(({ inUse, capacity }) => inUse <= capacity);
const kept = ended.length === calls.length && passed && protectedHead && within;
console.log(
  kept ? 'Kept: all ran, none beyond a limit, and nobody overtook on what the head was short of.' : 'Broken.',
);
process.exitCode = kept ? 0 : 1;
