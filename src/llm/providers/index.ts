/** All providers, those with marks of their own before those whose headers others copied. */
import type { HeaderReader } from '../header-reader.js';
import { anthropic } from './anthropic.js';
import { azure } from './azure.js';
import { bedrock } from './bedrock.js';
import { cerebras } from './cerebras.js';
import { gemini } from './gemini.js';
import { groq } from './groq.js';
import { mistral } from './mistral.js';
import { openai } from './openai.js';
import { openrouter } from './openrouter.js';
import type { Provider, ProviderName } from './provider.js';
import { together } from './together.js';

export const PROVIDERS: readonly Provider[] = [
  anthropic,
  azure,
  groq,
  mistral,
  cerebras,
  bedrock,
  openai,
  together,
  openrouter,
  gemini,
];

/** The provider of that name, or the first one whose marks these headers bear; null where there is none. */
export function providerOf(read: HeaderReader, name?: ProviderName): Provider | null {
  if (name !== undefined) return PROVIDERS.find((provider) => provider.name === name) ?? null;
  return PROVIDERS.find(({ marks }) => marks.some((mark) => read(mark) !== null)) ?? null;
}
