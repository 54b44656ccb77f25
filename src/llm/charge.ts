/** What a call costs at each provider: reserved when it starts, settled by what it used. */
import type { Estimate } from './estimate.js';
import { assertKnown } from './known-options.js';
import type { Usage } from './usage.js';

/** Tokens as a provider charges them: to a budget of all, of input, or of output. */
export interface Charge {
  readonly tokens: number;
  readonly input: number;
  readonly output: number;
}

/** Which budget. */
export type Budget = keyof Charge;

/**
 * A provider's rule, or one of your own: `{ ...charge.azure(), name: 'ours', settle: (usage) => … }`.
 */
export interface ChargePolicy {
  readonly name: string;
  /** What is set aside before the call starts. */
  reserve(estimate: Estimate): Charge;
  /** What it costs once its usage is known. */
  settle(usage: Usage, reserved: Charge): Charge;
  /** What a call costs that the provider refused, or answered with an error. */
  refused(reserved: Charge): Charge;
  /** Budgets where an estimate above all there can ever be asks for just that; in others it is refused, with the numbers. */
  readonly clamps: readonly Budget[];
}

const NOTHING: Charge = { tokens: 0, input: 0, output: 0 };

const both = (input: number, output: number): Charge => ({ tokens: input + output, input, output });

const greater = (one: Charge, other: Charge): Charge => ({
  tokens: Math.max(one.tokens, other.tokens),
  input: Math.max(one.input, other.input),
  output: Math.max(one.output, other.output),
});

/** Nothing comes back of a reservation; a call that took more than was set aside is charged that. */
const neverRefunded = {
  settle: (usage: Usage, reserved: Charge): Charge => greater(reserved, both(usage.input, usage.output)),
  refused: (reserved: Charge): Charge => reserved,
  clamps: [],
};

export interface OpenAICharge {
  /**
   * OpenAI's guide: the greater of `max_tokens` and an estimate by characters. `sum`: both together, as many servers that
   * speak its protocol count. `greater` unless given.
   */
  readonly reserve?: 'greater' | 'sum' | undefined;
}

/** One bucket of tokens; unsuccessful requests count too, and nothing is refunded. */
function openai(options: OpenAICharge = {}): ChargePolicy {
  assertKnown('charge.openai', options, { reserve: true });
  const { reserve = 'greater' } = options;
  return {
    name: 'openai',
    reserve: ({ counted, maxOutput }) => ({
      ...both(counted, maxOutput),
      tokens: reserve === 'sum' ? counted + maxOutput : Math.max(counted, maxOutput),
    }),
    ...neverRefunded,
  };
}

/** Prompt and all the answer may take, counted when the request arrives; not refunded within the minute. */
function azure(): ChargePolicy {
  return { name: 'azure', reserve: ({ counted, maxOutput }) => both(counted, maxOutput), ...neverRefunded };
}

/** Counted by what it takes, so no more than that is set aside; a refused call costs a request and no tokens. */
const asTaken = (name: string, cacheReads: 'free' | 'counted'): ChargePolicy => ({
  name,
  reserve: ({ input, output }) => both(input, output),
  settle: ({ input, cacheRead, output }) => both(cacheReads === 'free' ? input - cacheRead : input, output),
  refused: () => NOTHING,
  clamps: ['tokens', 'output'],
});

export interface AnthropicCharge {
  /** Whether what is read from a cache counts as input: for most models not, for some older ones it does. `free` unless given. */
  readonly cacheReads?: 'free' | 'counted' | undefined;
}

/** Input without what was read from a cache; output as it is produced, whatever `max_tokens` says. */
function anthropic(options: AnthropicCharge = {}): ChargePolicy {
  assertKnown('charge.anthropic', options, { cacheReads: true });
  return asTaken('anthropic', options.cacheReads ?? 'free');
}

/** Input and output together; what was read from a cache is free. It speaks OpenAI's protocol, so `charge` has to name it. */
function groq(): ChargePolicy {
  return asTaken('groq', 'free');
}

/** Input and output together, a cache's share included. It speaks OpenAI's protocol, so `charge` has to name it. */
function mistral(): ChargePolicy {
  return asTaken('mistral', 'counted');
}

export interface BedrockCharge {
  /** What an answer may take at the model where the call does not say. 65,536 unless given. */
  readonly maxOutput?: number | undefined;
  /** Tokens of the quota that one token of output burns: 5 for some Claude models. 1 unless given. */
  readonly burndown?: number | undefined;
}

/** Input, what the cache gives included, and all the answer may take; settled at the end without what came from the cache. */
function bedrock(options: BedrockCharge = {}): ChargePolicy {
  assertKnown('charge.bedrock', options, { maxOutput: true, burndown: true });
  const { maxOutput: largest = 65_536, burndown = 1 } = options;
  return {
    name: 'bedrock',
    reserve: ({ input, maxOutput, isBounded }) => both(input, isBounded ? maxOutput : largest),
    settle: ({ input, cacheRead, output }) => both(input - cacheRead, output * burndown),
    refused: () => NOTHING,
    clamps: [],
  };
}

/** Input alone counts. */
function gemini(): ChargePolicy {
  return {
    name: 'gemini',
    reserve: ({ input }) => both(input, 0),
    settle: ({ input }) => both(input, 0),
    refused: () => NOTHING,
    clamps: [],
  };
}

/**
 * The charge policies of the providers, from their published rules.
 *
 * @example
 * ```ts
 * admittedFetch(admission, { tokens: gpt, charge: charge.azure() });
 * admittedFetch(admission, { tokens: claude, charge: charge.bedrock({ burndown: 5 }) });
 * admittedFetch(admission, { tokens: llama, charge: charge.groq() });
 * ```
 */
export const charge = { openai, azure, anthropic, bedrock, gemini, groq, mistral } as const;
