/** The runs of the burst, bare, through other limiters and admitted, each against a provider whose quota is fresh. */
import type { Observable } from 'rxjs';
import { CountingGate, TokenBucket, createAdmission } from 'rx-admission';
import type { AdmissionStatus } from 'rx-admission';
import { burst, limited } from './burst.js';
import type { Call } from '../provider/calls.js';
import { Board, chatThrough } from './chat.js';
import type { Ended } from './chat.js';
import type { Opponent, Options } from './options.js';
import { peers } from './peers.js';
import { openProvider } from './provider.js';
import type { Provider } from './provider.js';
import type { Run } from './report.js';
import { showLive } from './view.js';
import type { Scene } from './view.js';

export interface Stage {
  readonly options: Options;
  readonly calls: readonly Call[];
  readonly out: NodeJS.WriteStream;
  /** Aborted by Ctrl-C: what waits leaves the line, what runs may end. */
  readonly interrupted: AbortSignal;
}

export async function runOpponent(name: Opponent, stage: Stage): Promise<Run> {
  const { calls, interrupted, options } = stage;
  const provider = await openProvider(options);
  const board = new Board();
  const chat = chatThrough(provider.ask(), board);
  const ended = name === 'bare' ? burst(calls, chat, interrupted) : limited(calls, chat, interrupted, peers[name](options));
  return perform(name, stage, provider, board, ended, () => null);
}

export async function runAdmitted(stage: Stage): Promise<Run> {
  const { model: name, tokensPerMinute, requestsPerMinute, headroom, concurrency } = stage.options;
  const quota = new TokenBucket({ name, tokensPerMinute, requestsPerMinute, headroom });
  const streams = new CountingGate({ name: 'streams', capacity: concurrency });
  const admission = createAdmission();
  stage.interrupted.addEventListener('abort', () => void admission.drain({ timeout: 5_000 }));

  const provider = await openProvider(stage.options);
  const board = new Board();
  const chat = chatThrough(provider.ask({ admission, accounts: { quota, streams } }), board);
  const ended = burst(stage.calls, chat);
  const run = await perform('admitted', stage, provider, board, ended, () => admission.status());
  await admission.drain();
  return run;
}

async function perform(
  title: string,
  { options, calls, out }: Stage,
  provider: Provider,
  board: Board,
  ended: Observable<Ended>,
  status: () => AdmissionStatus | null,
): Promise<Run> {
  const startedAt = performance.now();
  const seen = { title, startedAt, calls: calls.length, board };
  const scene = (): Scene => ({ ...seen, now: performance.now(), status: status() });
  const view = showLive(out, scene);
  try {
    await ended.forEach((end) => board.ended.push(end));
  } finally {
    view.stop();
    await provider.close();
  }
  const ledger = provider.books ?? { limits: options, log: sentBy(board.ended), peak: board.peak };
  return { title, wall: performance.now() - startedAt, ended: board.ended, ledger };
}

/** What a real provider must have seen, as far as this side can tell: it does not say which limit a 429 was about. */
function sentBy(ended: readonly Ended[]): Run['ledger']['log'] {
  return ended
    .flatMap(({ call, sentAt, outcome }) => {
      if (sentAt === null) return [];
      return [{ at: sentAt, tokens: call.tokens, refused: outcome === 'limited' ? ('requests' as const) : null }];
    })
    .sort((a, b) => a.at - b.at);
}
