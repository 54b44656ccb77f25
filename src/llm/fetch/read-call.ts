/** Reads the call out of a request, without using the request up. */
import { callOf, type LlmCall, type Protocol } from '../call.js';
import { isJson, type Json } from '../usage.js';

/** What `fetch` takes. */
export type FetchInput = string | URL | Request;
export type FetchInit = RequestInit;

export interface CallRead {
  readonly call: LlmCall;
  readonly host: string;
  /** The request's text, where it has one that can be sent in another form. */
  readonly text: string | null;
}

/** Ends of paths that ask a model for something. What polls, lists, uploads or cancels needs no admission. */
const OPERATION =
  /\/(chat\/completions|completions|responses|embeddings|messages|moderations|rerank|chat|generate|images\/[a-z]+|audio\/[a-z]+)\/?$/;
/** `models/gemini-3:generateContent`, `deployments/x/…` aside. */
const GEMINI = /\/models\/([^/:]+):((?:stream)?[gG]enerateContent|embedContent|batchEmbedContents|predict)$/;
const BEDROCK = /\/model\/([^/]+)\/(converse|converse-stream|invoke|invoke-with-response-stream)$/;
/** Counting tokens names a model as well, and has a limit of its own. */
const COUNTING = /\/(count_tokens|input_tokens)$|:countTokens$/;
/** Azure names the model in its path. */
const DEPLOYMENT = /\/deployments\/([^/]+)\//;

/** Null for a request that asks no model for anything. */
export async function readCall(input: FetchInput, init: FetchInit | undefined): Promise<CallRead | null> {
  const isRequest = input instanceof Request;
  const method = init?.method ?? (isRequest ? input.method : 'GET');
  if (method.toUpperCase() !== 'POST') return null;
  const url = new URL(isRequest ? input.url : String(input), 'http://relative.invalid');
  const path = url.pathname;
  if (COUNTING.test(path)) return null;
  const body = init?.body ?? null;
  const text = body === null && isRequest && mayAsk(path, input.headers) ? await input.clone().text() : textOf(body);
  const json = jsonOf(text) ?? formOf(body);
  const about = aboutOf(path, json);
  if (about === null) return null;
  return { call: callOf(json, about), host: url.hostname, text: typeof body === 'string' ? body : null };
}

/** Whether a request's body is worth reading to find out: reading all of it keeps it from being sent meanwhile. */
const mayAsk = (path: string, headers: Headers): boolean =>
  [OPERATION, GEMINI, BEDROCK, DEPLOYMENT].some((pattern) => pattern.test(path)) ||
  (headers.get('content-type') ?? '').includes('json');

/** As it stands where it is no encoded text. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function aboutOf(path: string, json: Json): Pick<LlmCall, 'protocol' | 'operation' | 'model'> | null {
  const inPath = (pattern: RegExp, protocol: Protocol): ReturnType<typeof aboutOf> => {
    const [, model, operation] = pattern.exec(path) ?? [];
    return model === undefined || operation === undefined ? null : { protocol, operation, model: decoded(model) };
  };
  const named = typeof json.model === 'string' ? json.model : (DEPLOYMENT.exec(path)?.[1] ?? '');
  const operation = OPERATION.exec(path)?.[1] ?? (named === '' ? null : (path.split('/').at(-1) ?? ''));
  const byBody = operation === null ? null : { protocol: protocolOf(operation), operation, model: named };
  return inPath(GEMINI, 'gemini') ?? inPath(BEDROCK, 'bedrock') ?? byBody;
}

function protocolOf(operation: string): Protocol | null {
  if (operation === 'messages') return 'anthropic';
  return OPERATION.test(`/${operation}`) ? 'openai' : null;
}

/** A stream cannot be read twice: what it says stays unknown. */
function textOf(body: unknown): string | null {
  if (typeof body === 'string') return body;
  if (body instanceof ArrayBuffer || ArrayBuffer.isView(body)) return new TextDecoder().decode(body as Uint8Array);
  return null;
}

function jsonOf(text: string | null): Json | null {
  if (!text?.trimStart().startsWith('{')) return null;
  try {
    const parsed: unknown = JSON.parse(text);
    return isJson(parsed) ? parsed : null;
  } catch {
    return null;
  }
}

/** Files come in forms, with the model beside them. */
function formOf(body: unknown): Json {
  const model = body instanceof FormData ? body.get('model') : null;
  return typeof model === 'string' ? { model } : {};
}
