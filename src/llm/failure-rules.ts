/** Which rule an error falls under: what says most comes first. */
import type { FailureFacts } from './failure-facts.js';
import { byStatus, byTransport } from './providers/http.js';
import { PROVIDERS } from './providers/index.js';
import type { FailureRule, Provider, ProviderName } from './providers/provider.js';

/** Nothing that anybody upstream said: a bug of the caller's, or an answer that is none. */
const UNKNOWN: FailureRule = { kind: 'unrelated', reason: 'no answer of an upstream' };
/** What no table names, by its class (RFC 9110, 15.5 and 15.6). */
const SERVER: FailureRule = { kind: 'transient', reason: 'server error' };
const CLIENT: FailureRule = { kind: 'stop', reason: 'refused' };

export function ruleOf(facts: FailureFacts, provider: Provider | null): FailureRule {
  const holds = (rule: FailureRule): boolean => applies(rule, facts, provider?.name ?? null);
  const rules = function* (): Generator<FailureRule> {
    // Whose connection broke has heard nothing: what its causes are called must not be taken for an answer.
    if (facts.status === 0) yield* byTransport;
    if (provider !== null) yield* provider.failures;
    // Gateways pass on the errors of those behind them, and many speak with the words of others.
    for (const { failures } of PROVIDERS) yield* failures;
    yield* byStatus;
  };
  for (const rule of rules()) if (holds(rule)) return rule;
  if (facts.status === 0) return UNKNOWN;
  return facts.status >= 500 ? SERVER : CLIENT;
}

function applies(rule: FailureRule, { words, status, messages }: FailureFacts, provider: ProviderName | null): boolean {
  const { says } = rule;
  return (
    (rule.of === undefined || rule.of === provider) &&
    (rule.status === undefined || rule.status.includes(status)) &&
    (rule.words === undefined || rule.words.some((word) => words.has(word))) &&
    (says === undefined || messages.some((text) => says.test(text)) || [...words].some((word) => says.test(word)))
  );
}
