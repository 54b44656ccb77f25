/** What each provider reserves, settles and refunds: the rules that its guide publishes. */
import { describe, expect, it } from 'vitest';
import { charge, type ChargePolicy } from '../../src/llm/charge.js';
import type { Estimate } from '../../src/llm/estimate.js';

const estimate: Estimate = { counted: 1_000, input: 1_100, maxOutput: 4_000, isBounded: true, output: 300 };
const usage = { input: 1_200, cacheRead: 200, cacheWrite: 0, output: 500 };

describe('a charge policy', () => {
  it.each<[string, ChargePolicy, number, number, number]>([
    ['openai: the greater of prompt and max_tokens, never refunded', charge.openai(), 4_000, 4_000, 4_000],
    ['openai as others count it: both together', charge.openai({ reserve: 'sum' }), 5_000, 5_000, 5_000],
    ['azure: prompt and max_tokens, never refunded', charge.azure(), 5_000, 5_000, 5_000],
    ['anthropic: what it takes, and nothing for what was refused', charge.anthropic(), 1_400, 1_500, 0],
    ['anthropic, where cache reads count', charge.anthropic({ cacheReads: 'counted' }), 1_400, 1_700, 0],
    ['groq: what it takes, the cache free', charge.groq(), 1_400, 1_500, 0],
    ['mistral: what it takes', charge.mistral(), 1_400, 1_700, 0],
    ['bedrock: all at the start, less the cache at the end', charge.bedrock(), 5_100, 1_500, 0],
    ['bedrock, where output burns five times', charge.bedrock({ burndown: 5 }), 5_100, 3_500, 0],
    ['gemini: input alone', charge.gemini(), 1_100, 1_200, 0],
  ])('of %s', (_rule, policy, reserved, settled, refused) => {
    const atStart = policy.reserve(estimate);
    expect(atStart.tokens).toBe(reserved);
    expect(policy.settle(usage, atStart).tokens).toBe(settled);
    expect(policy.refused(atStart).tokens).toBe(refused);
  });

  it('of anthropic keeps input and output apart', () => {
    const policy = charge.anthropic();
    const reserved = policy.reserve(estimate);
    expect(reserved).toEqual({ tokens: 1_400, input: 1_100, output: 300 });
    expect(policy.settle(usage, reserved)).toEqual({ tokens: 1_500, input: 1_000, output: 500 });
  });

  it('of openai charges a call that took more than was set aside', () => {
    const policy = charge.openai();
    const reserved = policy.reserve({ ...estimate, maxOutput: 0 });
    expect(policy.settle(usage, reserved).tokens).toBe(1_700);
  });

  it.each<[string, () => ChargePolicy]>([
    ['anthropic', () => charge.anthropic({ cacheread: 'counted' } as object)],
    ['openai', () => charge.openai({ sum: true } as object)],
    ['bedrock', () => charge.bedrock({ burnDown: 5 } as object)],
  ])('of %s has no options but its own', (name, made) => {
    expect(made).toThrow(new RegExp(`charge.${name} has no option "\\w+"; it has`));
  });

  it('of bedrock reserves the model’s most where the call sets no limit', () => {
    expect(charge.bedrock({ maxOutput: 64_000 }).reserve({ ...estimate, isBounded: false }).output).toBe(64_000);
  });
});
