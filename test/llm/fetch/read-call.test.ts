/** Which requests ask a model for something, and what they ask: paths and bodies of every protocol. */
import { describe, expect, it } from 'vitest';
import { readCall, type FetchInput, type FetchInit } from '../../../src/llm/fetch/read-call.js';
import { refusalResponse } from '../../../src/llm/fetch/refusal.js';
import { askingForUsage, lacksUsage } from '../../../src/llm/fetch/include-usage.js';
import { RefusedError } from '../../../src/index.js';
import type { Protocol } from '../../../src/llm/call.js';

const isPlain = (body: unknown): boolean => typeof body === 'object' && body !== null && Object.getPrototypeOf(body) === Object.prototype;
const post = (body: unknown): FetchInit => ({ method: 'POST', body: isPlain(body) ? JSON.stringify(body) : (body as string) });
const read = async (input: FetchInput, init?: FetchInit): Promise<readonly unknown[] | null> => {
  const found = await readCall(input, init);
  return found === null ? null : [found.call.protocol, found.call.operation, found.call.model];
};

describe('a request that asks a model for something', () => {
  it.each<[string, FetchInput, unknown, unknown]>([
    ['OpenAI chat', 'https://api.example/v1/chat/completions', { model: 'gpt' }, ['openai', 'chat/completions', 'gpt']],
    ['OpenAI responses', 'https://api.example/v1/responses', { model: 'gpt' }, ['openai', 'responses', 'gpt']],
    ['a URL with a query', new URL('https://api.example/v1/embeddings?x=1'), { model: 'small' }, ['openai', 'embeddings', 'small']],
    ['a path alone', '/v1/images/generations', { model: 'picture' }, ['openai', 'images/generations', 'picture']],
    ['Anthropic', 'https://api.example/v1/messages', { model: 'claude' }, ['anthropic', 'messages', 'claude']],
    ['Gemini', 'https://api.example/v1beta/models/gemini-3:streamGenerateContent?alt=sse', {}, ['gemini', 'streamGenerateContent', 'gemini-3']],
    ['a model that is no encoded text', 'https://api.example/v1beta/models/%E0%A4%A:generateContent', {}, ['gemini', 'generateContent', '%E0%A4%A']],
    ['Bedrock', 'https://api.example/model/us.claude%3A0/converse', {}, ['bedrock', 'converse', 'us.claude:0']],
    ['Azure', 'https://api.example/openai/deployments/mine/chat/completions', {}, ['openai', 'chat/completions', 'mine']],
    ['a path of its own, with a model', 'https://api.example/v9/dream', { model: 'm' }, [null, 'dream', 'm']],
    ['a body that names no model', 'https://api.example/v1/completions', {}, ['openai', 'completions', '']],
    ['a body that is no JSON', 'https://api.example/v1/rerank', 'plain', ['openai', 'rerank', '']],
    ['a body that is broken JSON', 'https://api.example/v1/rerank', '{"model":', ['openai', 'rerank', '']],
    ['no body', 'https://api.example/v1/moderations', null, ['openai', 'moderations', '']],
    ['bytes', 'https://api.example/v1/chat', new TextEncoder().encode('{"model":"b"}'), ['openai', 'chat', 'b']],
    ['a buffer', 'https://api.example/v1/chat', new TextEncoder().encode('{"model":"b"}').buffer, ['openai', 'chat', 'b']],
  ])('is read: %s', async (_what, input, body, expected) => {
    expect(await read(input, post(body))).toEqual(expected);
  });

  it('is read out of a Request, whose body stays to be sent', async () => {
    const request = new Request('https://api.example/v1/chat/completions', { method: 'post', body: '{"model":"gpt"}' });
    expect(await read(request)).toEqual(['openai', 'chat/completions', 'gpt']);
    expect(await request.text()).toBe('{"model":"gpt"}');
    const bare = new Request('https://api.example/v1/moderations', { method: 'POST' });
    expect(await read(bare, { method: 'POST', body: '{"model":"given beside it"}' })).toEqual(['openai', 'moderations', 'given beside it']);
  });

  it('is read out of a form, with its file beside the model', async () => {
    const form = new FormData();
    form.set('file', new Blob(['sound']));
    expect(await read('https://api.example/v1/audio/transcriptions', post(form))).toEqual(['openai', 'audio/transcriptions', '']);
    form.set('model', 'whisper');
    expect(await read('https://api.example/v1/audio/transcriptions', post(form))).toEqual(['openai', 'audio/transcriptions', 'whisper']);
  });
});

describe('a request that asks no model for anything', () => {
  it.each<[string, FetchInput, FetchInit | undefined]>([
    ['a GET', 'https://api.example/v1/chat/completions', undefined],
    ['a Request that gets', new Request('https://api.example/v1/responses/1'), undefined],
    ['a DELETE', 'https://api.example/v1/responses/1', { method: 'DELETE' }],
    ['an upload', 'https://api.example/v1/files', post({ purpose: 'batch' })],
    ['counting tokens', 'https://api.example/v1/messages/count_tokens', post({ model: 'claude' })],
    ['a cancel', 'https://api.example/v1/responses/1/cancel', post(null)],
    ['an upload in a Request', new Request('https://api.example/v1/uploads', { method: 'POST', body: 'bytes' }), undefined],
  ])('passes: %s', async (_what, input, init) => {
    expect(await readCall(input, init)).toBeNull();
  });
});

describe('a refusal', () => {
  const error = new RefusedError('no room', { account: 'gpt', retryAt: 5_500 });

  it.each<[Protocol | null, unknown]>([
    ['openai', { error: { message: 'no room', type: 'admission_refused', param: 'gpt', code: 'admission_circuit_blocked' } }],
    [null, { error: { message: 'no room', type: 'admission_refused', param: 'gpt', code: 'admission_circuit_blocked' } }],
    ['anthropic', { type: 'error', error: { type: 'rate_limit_error', message: 'no room', details: { error_code: 'admission_circuit_blocked', account: 'gpt' } } }],
    ['gemini', { error: { code: 429, status: 'RESOURCE_EXHAUSTED', message: 'no room', details: [{ reason: 'admission_circuit_blocked', account: 'gpt' }] } }],
    ['bedrock', { __type: 'ServiceQuotaExceededException', message: 'no room', code: 'admission_circuit_blocked' }],
  ])('speaks the protocol of %s, and says when', async (protocol, body) => {
    const response = refusalResponse(error, protocol, 1_000);
    const { headers } = response;
    expect([headers.get('x-rx-admission-retry-after'), headers.get('x-should-retry'), headers.has('retry-after')]).toEqual(['5', 'false', false]);
    expect(response.status).toBe(protocol === 'bedrock' ? 400 : 429);
    expect(await response.json()).toEqual(body);
  });

  it('names no instant and no account that it does not know', async () => {
    const response = refusalResponse(new RefusedError('no room', { reason: 'overflow' }), 'openai', 0);
    expect(response.headers.has('x-rx-admission-retry-after')).toBe(false);
    expect(await response.json()).toMatchObject({ error: { param: null, code: 'admission_overflow' } });
  });
});

describe('a stream of chat that did not ask for its usage', () => {
  it('is told from those that did, and asks with what it had asked for before', async () => {
    const asks = async (operation: string, body: object, host = 'api.example'): Promise<boolean> => {
      const found = await readCall(`https://${host}/v1/${operation}`, post(body));
      return found !== null && lacksUsage(found.call, found.host);
    };
    expect(await asks('chat/completions', { model: 'm', stream: true })).toBe(true);
    expect(await asks('completions', { model: 'm', stream: true })).toBe(true);
    // It answers 422 to a member that it does not know.
    expect(await asks('chat/completions', { model: 'm', stream: true }, 'api.mistral.ai')).toBe(false);
    expect(await asks('chat/completions', { model: 'm' })).toBe(false);
    expect(await asks('chat/completions', { model: 'm', stream: true, stream_options: { include_usage: false } })).toBe(false);
    expect(await asks('responses', { model: 'm', stream: true })).toBe(false);
    expect(await asks('messages', { model: 'm', stream: true })).toBe(false);
    const found = await readCall('/chat/completions', post({ model: 'm', stream: true, stream_options: { include_obfuscation: false } }));
    const init = found === null ? {} : askingForUsage(found.call, '/chat/completions', { headers: { 'content-length': '9', accept: 'x' } });
    const request = new Request('https://api.example/v1/chat/completions', { method: 'POST', headers: { authorization: 'key' } });
    const kept = found === null ? {} : askingForUsage(found.call, request, {});
    expect([...new Headers(kept.headers)]).toEqual([['authorization', 'key']]);
    expect([...new Headers(init.headers)]).toEqual([['accept', 'x']]);
    expect(JSON.parse(init.body as string)).toMatchObject({ stream_options: { include_obfuscation: false, include_usage: true } });
  });
});
