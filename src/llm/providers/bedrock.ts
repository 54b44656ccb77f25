/** AWS Bedrock: no headers; exceptions by name, thrown, or as members of an event stream. */
import type { Provider } from './provider.js';

/** The name of a thrown exception, and of the event that carries it inside a stream. */
const thrownOrStreamed = (name: string): string[] => [name, name.charAt(0).toLowerCase() + name.slice(1)];

export const bedrock: Provider = {
  name: 'bedrock',
  marks: ['x-amzn-requestid', 'x-amzn-errortype'],
  rateLimits: [],
  failures: [
    { kind: 'wait', reason: 'rate limited', weight: 1, words: thrownOrStreamed('ThrottlingException') },
    // A limit of the account, which only a request for more lifts.
    { kind: 'stop', reason: 'quota exhausted', words: thrownOrStreamed('ServiceQuotaExceededException') },
    { kind: 'stop', reason: 'refused', words: thrownOrStreamed('ValidationException') },
    { kind: 'stop', reason: 'refused', words: thrownOrStreamed('AccessDeniedException') },
    { kind: 'stop', reason: 'refused', words: thrownOrStreamed('ResourceNotFoundException') },
    { kind: 'capacity', reason: 'unavailable', weight: 3, words: thrownOrStreamed('ServiceUnavailableException') },
    // A 429 by its status, but about a model that is still being loaded.
    { kind: 'transient', reason: 'model not ready', words: thrownOrStreamed('ModelNotReadyException') },
    { kind: 'transient', reason: 'model timed out', words: thrownOrStreamed('ModelTimeoutException') },
    { kind: 'transient', reason: 'stream broke', words: thrownOrStreamed('ModelStreamErrorException') },
    { kind: 'transient', reason: 'server error', words: thrownOrStreamed('InternalServerException') },
  ],
};
