/** What a bare status, or a connection that broke, says: for whoever says no more. */
import type { FailureRule } from './provider.js';

/** RFC 9110 and 6585. */
export const byStatus: readonly FailureRule[] = [
  { kind: 'stop', reason: 'payment required', status: [402] },
  { kind: 'stop', reason: 'not allowed', status: [401, 403] },
  { kind: 'stop', reason: 'too large', status: [413] },
  { kind: 'stop', reason: 'refused', status: [400, 404, 405, 406, 410, 415, 422] },
  { kind: 'wait', reason: 'rate limited', weight: 1, status: [429] },
  // Inside a stream, where there is no status, or one that the SDK made up.
  {
    kind: 'stop',
    reason: 'refused',
    words: ['invalid_request_error', 'authentication_error', 'permission_error', 'not_found_error'],
  },
  { kind: 'transient', reason: 'timed out or in conflict', status: [408, 409, 425] },
  { kind: 'transient', reason: 'server error', status: [500, 501, 502, 503, 504, 520, 521, 522, 523, 524, 530] },
];

/** Names and codes of Node, undici and the SDKs, for what never became a whole answer. */
export const byTransport: readonly FailureRule[] = [
  { kind: 'unrelated', reason: 'aborted', words: ['AbortError', 'APIUserAbortError', 'AI_AbortError', 'RequestAbortedError'] },
  { kind: 'unrelated', reason: 'aborted', says: /^request was aborted\.?$/i },
  // The caller's own limit of time: AbortSignal.timeout.
  { kind: 'unrelated', reason: 'out of time', words: ['TimeoutError'], says: /aborted due to timeout/i },
  {
    kind: 'transient',
    reason: 'connection failed',
    words: [
      'APIConnectionError',
      'APIConnectionTimeoutError',
      'ConnectionError',
      'RequestTimeoutError',
      'ECONNREFUSED',
      'ECONNRESET',
      'ECONNABORTED',
      'EPIPE',
      'ETIMEDOUT',
      'EHOSTUNREACH',
      'ENETUNREACH',
      'ENOTFOUND',
      'EAI_AGAIN',
      'UND_ERR_SOCKET',
      'UND_ERR_CONNECT_TIMEOUT',
      'UND_ERR_HEADERS_TIMEOUT',
      'UND_ERR_BODY_TIMEOUT',
    ],
  },
  // A body that was cut off is no error of an SDK, but a bare TypeError.
  {
    kind: 'transient',
    reason: 'connection broke',
    says: /^(?:terminated|fetch failed|failed to fetch|network error|connection error\.|request timed out\.|premature close|socket hang up|other side closed)$/i,
  },
];
