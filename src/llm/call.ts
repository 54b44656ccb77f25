/** One call of a model, as its request tells it: what is asked of whom, and how much. */
import { inner, isJson, type Json } from './usage.js';

/** Whose protocol a request speaks, whoever answers it. */
export type Protocol = 'openai' | 'anthropic' | 'gemini' | 'bedrock';

export interface LlmCall {
  /** Null where the request does not show it. */
  readonly protocol: Protocol | null;
  /** What is called: the end of the path, such as `chat/completions`. */
  readonly operation: string;
  /** Empty where the request names none. */
  readonly model: string;
  /** The request's JSON; empty where it has none. */
  readonly body: Json;
  /** The prompt as text, in JSON, without what is not text. */
  readonly prompt: string;
  /** Images and other media in the prompt. */
  readonly media: number;
  /** Tokens that came as such: embeddings of token ids. */
  readonly tokenIds: number;
  /** The most tokens one answer may take, where the request says so; 0 where there is no answer in tokens. */
  readonly maxOutput: number | null;
  /** How many answers were asked for: `n`, `best_of`, `candidateCount`. */
  readonly answers: number;
}

/** Where the protocols keep what counts as prompt. */
const PROMPT = [
  'messages',
  'input',
  'prompt',
  'system',
  'instructions',
  'tools',
  'functions',
  'response_format',
  'text',
  'contents',
  'content',
  'systemInstruction',
  'system_instruction',
  'toolConfig',
  'texts',
];

const ANSWERLESS = /embed|moderations|rerank|images|audio\/speech/i;

/** The call that a JSON body makes. */
export function callOf(body: Json, about: Pick<LlmCall, 'protocol' | 'operation' | 'model'>): LlmCall {
  const prompt = promptOf(body);
  const config = inner(body, 'generationConfig');
  const asked = [
    body.max_completion_tokens,
    body.max_tokens,
    body.max_output_tokens,
    body.maxOutputTokens,
    config.maxOutputTokens,
    inner(body, 'inferenceConfig').maxTokens,
  ].find(isCount);
  const answers = [body.n, body.best_of, config.candidateCount].filter(isCount);
  const maxOutput = ANSWERLESS.test(about.operation) ? 0 : (asked ?? null);
  return { ...about, body, ...prompt, maxOutput, answers: Math.max(1, ...answers) };
}

/** One line that tells the call from others in a log. */
export const labelOf = ({ model, operation }: LlmCall): string => [model, operation].filter((part) => part !== '').join(' · ');

const isCount = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value) && value >= 0;

/** Base64 is no text to a model: an image of a megabyte would count as hundreds of thousands of tokens. */
const MEDIA_URL = /^data:[^,]{0,200};base64,/;
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;
/** Long enough to be no word: the smallest picture takes more. */
const SHORTEST_MEDIA = 256;

function promptOf(body: Json): Pick<LlmCall, 'prompt' | 'media' | 'tokenIds'> {
  let media = 0;
  let tokenIds = 0;
  const reduced = (_key: string, value: unknown): unknown => {
    if (typeof value === 'string' && isMedia(value)) {
      media += 1;
      return '';
    }
    if (value instanceof Uint8Array || (isJson(value) && value.type === 'Buffer')) {
      media += 1;
      return '';
    }
    if (Array.isArray(value) && value.length > 0 && value.every(isCount)) {
      tokenIds += value.length;
      return [];
    }
    return value;
  };
  const parts = PROMPT.filter((key) => body[key] !== undefined).map((key) => JSON.stringify(body[key], reduced));
  return { prompt: parts.join(''), media, tokenIds };
}

const isMedia = (text: string): boolean =>
  text.length >= SHORTEST_MEDIA && (MEDIA_URL.test(text.slice(0, 250)) || (BASE64.test(text) && !/^[a-z]+$/.test(text)));
