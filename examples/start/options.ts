/** The options of `npm start`, read strictly: a bad value is named, with what to write instead. */
import { parseArgs } from 'node:util';
import { peers, type Peer } from './peers.js';
import type { Limits } from '../provider/quota.js';

/** `bare`: all at once; or a limiter that many would take. */
export type Opponent = 'bare' | Peer;

/** Whose SDK and protocol. */
export type ProviderName = 'openai' | 'anthropic';

export interface Options extends Limits {
  readonly calls: number;
  /** The share of the quota left unused. */
  readonly headroom: number;
  readonly seed: number;
  readonly model: string;
  /** How else the burst runs, before it goes through admission. */
  readonly compare: readonly Opponent[];
  readonly provider: ProviderName;
  /** A real provider, in place of the one on loopback. */
  readonly remote: { readonly baseUrl: string; readonly apiKey: string } | null;
}

export class UsageError extends Error {
  override name = 'UsageError';
}

export const HELP = `npm start -- [options]

One burst of streaming chat calls, first bare, then through p-limit, then
through rx-admission, against a provider on loopback that enforces its quota.
Needs no key.

  --provider <name>    openai or anthropic: whose SDK, protocol and way of counting (openai)
  --calls <n>          calls in the burst (200; 20 with --base-url, where each one costs money)
  --tpm <n>            tokens per minute the provider allows (600000); of input at anthropic (100000)
  --rpm <n>            requests per minute it allows (180)
  --concurrency <n>    calls it allows at once (16)
  --headroom <share>   share of the quota left unused, 0 to 0.9 (0.05)
  --seed <n>           another seed, another burst (1)
  --base-url <url>     a real provider of that protocol; the key is read from OPENAI_API_KEY or
                       ANTHROPIC_API_KEY, and --tpm, --rpm, --concurrency say what your account
                       may use
  --model <name>       the model to ask (gpt-5; claude-sonnet-5 at anthropic)
  --compare <names>    what the burst goes through as well, of bare, p-limit, p-queue and
                       bottleneck; or none (bare,p-limit; none with --base-url). p-queue and
                       bottleneck count requests by whole minutes, and wait for the next one
  --help               this text
`;

const KNOWN = {
  provider: { type: 'string' },
  calls: { type: 'string' },
  tpm: { type: 'string' },
  rpm: { type: 'string' },
  concurrency: { type: 'string' },
  headroom: { type: 'string' },
  seed: { type: 'string' },
  'base-url': { type: 'string' },
  model: { type: 'string' },
  compare: { type: 'string' },
  help: { type: 'boolean' },
} as const;

/** The burst asks a quarter more than that, and of the requests a tenth more. */
const PROVIDERS = {
  openai: { key: 'OPENAI_API_KEY', model: 'gpt-5', tokensPerMinute: 600_000 },
  anthropic: { key: 'ANTHROPIC_API_KEY', model: 'claude-sonnet-5', tokensPerMinute: 100_000 },
} as const satisfies Readonly<Record<ProviderName, object>>;

type Environment = Readonly<Record<string, string | undefined>>;

/** The options, or 'help' where that is what was asked for. */
export function readOptions(argv: readonly string[], env: Environment): Options | 'help' {
  const values = parse(argv);
  if (values.help) return 'help';
  swallowedByNpm(env);
  const whole = (name: 'calls' | 'tpm' | 'rpm' | 'concurrency' | 'seed', otherwise: number, least = 1, most = 1e9) =>
    wholeNumber(name, values[name], otherwise, least, most);
  const provider = providerOf(values.provider ?? 'openai');
  const { key, model, tokensPerMinute } = PROVIDERS[provider];
  const remote = remoteOf(values['base-url'], key, env[key]);
  return {
    calls: whole('calls', remote === null ? 200 : 20, 1, 10_000),
    tokensPerMinute: whole('tpm', tokensPerMinute),
    requestsPerMinute: whole('rpm', 180),
    concurrency: whole('concurrency', 16),
    headroom: share(values.headroom),
    seed: whole('seed', 1, 0),
    model: values.model ?? model,
    compare: opponents(values.compare ?? (remote === null ? 'bare,p-limit' : 'none')),
    provider,
    remote,
  };
}

function parse(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: KNOWN, strict: true }).values;
  } catch (error) {
    const [reason] = (error as Error).message.split('. ');
    throw new UsageError(`${reason}. The options are listed by: npm start -- --help`);
  }
}

function wholeNumber(name: string, text: string | undefined, otherwise: number, least: number, most: number): number {
  if (text === undefined) return otherwise;
  const value = /^\d[\d_]*$/.test(text) ? Number(text.replaceAll('_', '')) : NaN;
  if (value >= least && value <= most) return value;
  const remedy = `give a whole number from ${least} to ${most}, for example --${name} ${otherwise}`;
  throw new UsageError(`--${name} is "${text}"; ${remedy}`);
}

function share(text: string | undefined): number {
  if (text === undefined) return 0.05;
  const value = /^\d*\.?\d+$/.test(text) ? Number(text) : NaN;
  if (value >= 0 && value <= 0.9) return value;
  throw new UsageError(`--headroom is "${text}"; give a share from 0 to 0.9, for example --headroom 0.05 for 5 %`);
}

function opponents(text: string): Opponent[] {
  if (text === 'none') return [];
  return text.split(',').map((name) => {
    if (name === 'bare' || isPeer(name)) return name;
    const names = ['bare', ...Object.keys(peers)].join(', ');
    throw new UsageError(`--compare is "${text}"; give some of ${names}, with commas between, or none`);
  });
}

const isPeer = (name: string): name is Peer => Object.hasOwn(peers, name);

function providerOf(name: string): ProviderName {
  if (name === 'openai' || name === 'anthropic') return name;
  throw new UsageError(`--provider is "${name}"; give openai or anthropic`);
}

function remoteOf(url: string | undefined, key: string, apiKey: string | undefined): Options['remote'] {
  if (url === undefined) return null;
  if (!/^https?:/.test(url) || !URL.canParse(url)) {
    const remedy = 'give a whole address, for example --base-url https://api.openai.com/v1';
    throw new UsageError(`--base-url is "${url}"; ${remedy}`);
  }
  if (!apiKey) {
    throw new UsageError(`${key} is not set, and --base-url needs it; export the key, or leave --base-url out`);
  }
  return { baseUrl: url, apiKey };
}

/** `npm start --calls 9`, without the `--` in between, hands the option to npm, which keeps it to itself. */
function swallowedByNpm(env: Environment): void {
  for (const name of Object.keys(KNOWN)) {
    if (env[`npm_config_${name.replaceAll('-', '_')}`] !== undefined) {
      throw new UsageError(`npm kept --${name} to itself; write npm start -- --${name} …`);
    }
  }
}
