/** What a call really used, in one shape, whichever provider says it. */

/** Tokens of one call, as its provider counted them. */
export interface Usage {
  /** The whole prompt, what was read from and written to a cache included. */
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  /** All answers, reasoning included. */
  readonly output: number;
}

/** As much of a JSON object as is read. */
export type Json = Readonly<Record<string, unknown>>;

export const isJson = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);

/** The member of that name where it is an object, else an empty one. */
export const inner = (object: Json, key: string): Json => (isJson(object[key]) ? object[key] : {});

/**
 * Reads a usage record of OpenAI (chat, responses, embeddings), Anthropic, Gemini or Bedrock; null for what is none.
 *
 * OpenAI and Gemini count what was cached into the prompt, Anthropic and Bedrock beside it.
 */
export function usageOf(record: unknown): Usage | null {
  if (!isJson(record)) return null;
  if ('prompt_tokens' in record) {
    const cacheRead = first(inner(record, 'prompt_tokens_details').cached_tokens);
    return usage(first(record.prompt_tokens), first(record.completion_tokens), cacheRead, 0);
  }
  if ('promptTokenCount' in record || 'candidatesTokenCount' in record) {
    const output = first(record.candidatesTokenCount) + first(record.thoughtsTokenCount);
    const input = first(record.promptTokenCount) + first(record.toolUsePromptTokenCount);
    return usage(input, output, first(record.cachedContentTokenCount), 0);
  }
  if ('input_tokens_details' in record || ('input_tokens' in record && 'total_tokens' in record)) {
    const cacheRead = first(inner(record, 'input_tokens_details').cached_tokens);
    return usage(first(record.input_tokens), first(record.output_tokens), cacheRead, 0);
  }
  if (['input_tokens', 'output_tokens', 'inputTokens', 'outputTokens'].some((key) => key in record)) {
    const cacheRead = first(record.cache_read_input_tokens, record.cacheReadInputTokens);
    const cacheWrite = first(record.cache_creation_input_tokens, record.cacheWriteInputTokens);
    const fresh = first(record.input_tokens, record.inputTokens);
    return usage(fresh + cacheRead + cacheWrite, first(record.output_tokens, record.outputTokens), cacheRead, cacheWrite);
  }
  return null;
}

/** The later reading of the same call: counts only grow, and what it leaves out stands. */
export function laterUsage(before: Usage | null, now: Usage | null): Usage | null {
  if (before === null || now === null) return now ?? before;
  return usage(
    Math.max(before.input, now.input),
    Math.max(before.output, now.output),
    Math.max(before.cacheRead, now.cacheRead),
    Math.max(before.cacheWrite, now.cacheWrite),
  );
}

const usage = (input: number, output: number, cacheRead: number, cacheWrite: number): Usage => ({
  input,
  cacheRead: Math.min(cacheRead, input),
  cacheWrite,
  output,
});

/** The first that is a count; a field that is null or absurd counts nothing. */
function first(...values: readonly unknown[]): number {
  const found = values.find((value) => typeof value === 'number' && Number.isFinite(value) && value >= 0);
  return (found as number | undefined) ?? 0;
}
