/** What an upstream said when it refused: the signal that accounts learn from. */

export interface UpstreamFailureFields {
  /** HTTP status; 0 when there was no response at all. */
  readonly status: number;
  readonly service: string;
  readonly detail: string;
  /** Seconds the upstream asked to wait; 0 or absent when it said nothing. */
  readonly retryAfter?: number;
  /** Throttle increments the signal is worth (default 1): a 429 counts one, an overload three, a 5xx none. */
  readonly weight?: number;
}

/**
 * A refusal or failure of an upstream, with the weight its signal has for the accounts it is about.
 *
 * @example
 * ```ts
 * bucket.onRateLimitError(new UpstreamFailure({ status: 429, service: 'openai', detail: 'slow down', retryAfter: 7 }));
 * ```
 */
export class UpstreamFailure implements UpstreamFailureFields {
  readonly status: number;
  readonly service: string;
  readonly detail: string;
  readonly retryAfter: number;
  readonly weight: number;

  constructor(fields: UpstreamFailureFields) {
    this.status = fields.status;
    this.service = fields.service;
    this.detail = fields.detail;
    this.retryAfter = fields.retryAfter ?? 0;
    this.weight = fields.weight ?? 1;
  }

  /** One line: status (or "no response"), service, detail, and the seconds to wait where some were named. */
  get summary(): string {
    const status = this.status === 0 ? 'no response' : `HTTP ${String(this.status)}`;
    const wait = this.retryAfter > 0 ? `, retry after ${String(this.retryAfter)}s` : '';
    return `${status} from ${this.service}: ${this.detail}${wait}`.replace(/\s*\n\s*/g, ' ');
  }
}
