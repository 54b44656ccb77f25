/** What an error says, wherever its SDK keeps it: gathered from the error, its causes, and the body it carries. */
import { AdmissionError } from '../index.js';
import { headerReader, type HeadersLike } from './header-reader.js';

export interface FailureFacts {
  /** 0 where there was no response, or the error came inside one that had begun well. */
  readonly status: number;
  readonly headers: HeadersLike | null;
  /** Names, types, codes and quota ids, of all that the error holds. */
  readonly words: ReadonlySet<string>;
  /** From the error itself inwards. */
  readonly messages: readonly string[];
  /** `retryDelay` of a `google.rpc.RetryInfo`. */
  readonly retryDelay: string | null;
  /** Whether admission itself refused, however an SDK wrapped that. */
  readonly isRefusal: boolean;
}

/** Where SDKs and bodies keep what is inside. */
const INNER = [
  'lastError',
  'cause',
  'error',
  'response',
  'body',
  'responseBody',
  'data',
  'details',
  'violations',
  'metadata',
  '$metadata',
  '$response',
];
const WORDS = ['name', 'type', '__type', 'code', 'errorCode', 'error_code', 'status', 'reason', 'quotaId', 'provider_code'];
const STATUSES = ['status', 'statusCode', 'httpStatusCode', 'code', 'provider_code'];
const HEADERS = ['headers', 'responseHeaders'];
/** The deepest that anybody nests is five: a retry error, its last, the body, its details, their violations. */
const DEEPEST = 8;

class Gathering implements FailureFacts {
  status = 0;
  headers: HeadersLike | null = null;
  readonly words = new Set<string>();
  readonly messages: string[] = [];
  retryDelay: string | null = null;
  isRefusal = false;
  readonly #seen = new Set<object>();

  visit(value: unknown, depth = 0): void {
    if (depth > DEEPEST) return;
    if (typeof value === 'string') this.#text(value, depth);
    if (typeof value !== 'object' || value === null || this.#seen.has(value)) return;
    this.#seen.add(value);
    if (value instanceof AdmissionError) this.isRefusal = true;
    if (Array.isArray(value)) {
      for (const member of value) this.visit(member, depth + 1);
      return;
    }
    const fields = value as Readonly<Record<string, unknown>>;
    this.#own(fields);
    if (typeof fields.message === 'string') this.#text(fields.message, depth);
    for (const key of INNER) this.visit(fields[key], depth + 1);
    for (const [key, member] of Object.entries(fields)) this.#exception(key, member, depth);
  }

  #own(fields: Readonly<Record<string, unknown>>): void {
    // Some SDKs leave `name` as it is, so that only their classes tell an abort from a broken connection.
    this.#word((fields.constructor as { name?: unknown } | undefined)?.name);
    for (const key of WORDS) this.#word(fields[key]);
    for (const key of STATUSES) this.status ||= statusOf(fields[key]);
    for (const key of HEADERS) this.#headers(fields[key]);
    if (typeof fields.retryDelay === 'string') this.retryDelay ??= fields.retryDelay;
  }

  #headers(value: unknown): void {
    if (this.headers !== null || typeof value !== 'object' || value === null) return;
    this.headers = value as HeadersLike;
    // The name of an exception that nobody deserialised, and a link to what it means.
    this.#word(headerReader(this.headers)('x-amzn-errortype')?.split(':')[0]);
  }

  /** AWS names types within their namespace. */
  #word(value: unknown): void {
    if (typeof value === 'string' && value !== '') this.words.add(value.slice(value.indexOf('#') + 1));
  }

  /** A member of an event stream that is an exception is told by its key. */
  #exception(key: string, member: unknown, depth: number): void {
    if (!key.endsWith('Exception') || typeof member !== 'object') return;
    this.words.add(key);
    this.visit(member, depth + 1);
  }

  /** A message, or a body that came as text; some messages are both. */
  #text(text: string, depth: number): void {
    const body = parsed(text);
    if (body !== null) this.visit(body, depth + 1);
    else if (text !== '') this.messages.push(text);
  }
}

export function factsOf(error: unknown): FailureFacts {
  const facts = new Gathering();
  facts.visit(error);
  return facts;
}

/** Of an error; one of success is no status, since what failed came later. */
function statusOf(value: unknown): number {
  const status = typeof value === 'number' || typeof value === 'string' ? Number(value) : 0;
  return Number.isInteger(status) && status >= 400 && status < 600 ? status : 0;
}

/** The JSON that a text is, or ends with; null for any other text. */
function parsed(text: string): object | null {
  const start = text.indexOf('{');
  if (start < 0) return null;
  try {
    return JSON.parse(text.slice(start)) as object;
  } catch {
    return null;
  }
}
