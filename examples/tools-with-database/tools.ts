/** The tools: each calls a model and writes what it answered, in a transaction. How they get what they need is not here. */
import type { PoolClient } from 'pg';

/** An agent's tool call. The two kinds need the same, and would take it in opposite order. */
export interface ToolCall {
  readonly id: number;
  /** `answer` reads its question first, and asks the model about it; `report` writes down what the model tells it. */
  readonly kind: 'answer' | 'report';
  readonly tokens: number;
}

export const calls: readonly ToolCall[] = Array.from({ length: 16 }, (_, index) => ({
  id: index + 1,
  kind: index % 2 === 0 ? 'answer' : 'report',
  tokens: 400,
}));

export const SCHEMA = 'CREATE TABLE answers (call int PRIMARY KEY, kind text NOT NULL, answer text NOT NULL)';

/** One call of the model: OpenAI's protocol, over loopback. */
export async function askModel(baseUrl: string, { kind, id }: ToolCall, signal?: AbortSignal): Promise<string> {
  const response = await fetch(`${baseUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer none' },
    body: JSON.stringify({ model: 'gpt-5', messages: [{ role: 'user', content: `${kind} ${id}` }] }),
    signal: signal ?? null,
  });
  if (!response.ok) throw new Error(`the model answered ${response.status}: ${await response.text()}`);
  const { choices } = (await response.json()) as { choices: { message: { content: string } }[] };
  return choices[0]?.message.content ?? '';
}

export async function write(client: PoolClient, { id, kind }: ToolCall, answer: string): Promise<void> {
  await client.query('INSERT INTO answers VALUES ($1, $2, $3)', [id, kind, answer]);
}
