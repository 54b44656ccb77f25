/** How many tokens a call will take, and what is learned of how wrong that was. */
import { countTokens } from 'gpt-tokenizer';
import { describe, expect, it } from 'vitest';
import { callOf, labelOf, type LlmCall } from '../../src/llm/call.js';
import { Estimator } from '../../src/llm/estimate.js';

const call = (body: Record<string, unknown>, operation = 'chat/completions', model = 'gpt-5'): LlmCall =>
  callOf(body, { protocol: 'openai', operation, model });

const chat = (content: unknown, more: Record<string, unknown> = {}): LlmCall =>
  call({ messages: [{ role: 'user', content }], ...more });

const usage = (input: number, output: number) => ({ input, output, cacheRead: 0, cacheWrite: 0 });

describe('an estimate', () => {
  it('is a quarter of the prompt’s bytes, and the most that is asked for', () => {
    const text = JSON.stringify([{ role: 'user', content: 'wörld' }]);
    const made = new Estimator().estimate(chat('wörld', { max_tokens: 100 }));
    const counted = Math.ceil((text.length + 1) / 4);
    expect(made).toEqual({ counted, input: counted, maxOutput: 100, isBounded: true, output: 100 });
  });

  it.each<[string, Record<string, unknown>]>([
    ['max_completion_tokens', { max_completion_tokens: 70 }],
    ['max_tokens', { max_tokens: 70 }],
    ['max_output_tokens', { max_output_tokens: 70 }],
    ['generationConfig.maxOutputTokens', { generationConfig: { maxOutputTokens: 70 } }],
    ['inferenceConfig.maxTokens', { inferenceConfig: { maxTokens: 70 } }],
    ['n answers', { max_tokens: 10, n: 7 }],
    ['best_of answers', { max_tokens: 10, n: 2, best_of: 7 }],
    ['candidateCount', { generationConfig: { maxOutputTokens: 10, candidateCount: 7 } }],
  ])('reads the most that is asked for: %s', (_where, body) => {
    expect(new Estimator().estimate(call(body)).maxOutput).toBe(70);
  });

  it('reckons with a usual answer where none is asked for', () => {
    expect(new Estimator({ maxOutput: 900 }).estimate(chat('hello'))).toMatchObject({ maxOutput: 900, isBounded: false });
  });

  it('reckons with no answer of embeddings, and counts token ids as what they are', () => {
    const ids = call({ input: [[1, 2, 3], [4, 5]] }, 'embeddings');
    expect(new Estimator({ count: () => 0 }).estimate(ids)).toMatchObject({ counted: 5, maxOutput: 0, output: 0 });
  });

  it('counts a picture as a picture, not as its base64', () => {
    const url = `data:image/png;base64,${'iVBORw0KGgo'.repeat(100_000)}`;
    const pictured = chat([{ type: 'text', text: 'what is it?' }, { type: 'image_url', image_url: { url } }]);
    const { counted } = new Estimator({ media: 1_000 }).estimate(pictured);
    expect(counted).toBeGreaterThan(1_000);
    expect(counted).toBeLessThan(1_100);
    const source = { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo'.repeat(100_000) };
    expect(chat([{ type: 'image', source }]).media).toBe(1);
    expect(chat([{ image: new Uint8Array(5_000) }]).media).toBe(1);
    expect(chat('x'.repeat(5_000)).media).toBe(0);
  });

  it('asks the tokenizer it is given', () => {
    const content = 'A job asks for everything it needs. '.repeat(100);
    const made = new Estimator({ count: (text) => countTokens(text) }).estimate(chat(content));
    expect(made.counted).toBe(countTokens(chat(content).prompt));
    expect(made.counted).toBeLessThan(new Estimator().estimate(chat(content)).counted);
  });

  it.each([NaN, -1, Infinity])('is refused where the tokenizer answers %d', (answer) => {
    const estimator = new Estimator({ count: () => answer });
    expect(() => estimator.estimate(chat('hello'))).toThrow(`count() answered must be a number of tokens from zero up, not ${answer}`);
  });

  it('is refused where an option is no number of tokens', () => {
    expect(() => new Estimator({ maxOutput: -5 })).toThrow('maxOutput must be a number of tokens from zero up, not -5');
    expect(() => new Estimator({ media: NaN })).toThrow('media must be');
  });
});

describe('an estimator', () => {
  const taught = (ratio: number, output: number, calls = 20, options = {}) => {
    const estimator = new Estimator({ count: () => 1_000, maxOutput: 4_000, ...options });
    for (let n = 0; n < calls; n += 1) {
      const made = estimator.estimate(chat('hello'));
      estimator.learn(chat('hello'), made, usage(1_000 * ratio, output));
    }
    return estimator;
  };

  it('corrects the prompt by what was used, and expects the answers that come', () => {
    expect(taught(1.5, 200).estimate(chat('hello'))).toMatchObject({ counted: 1_000, input: 1_500, maxOutput: 4_000, output: 200 });
  });

  it('corrects nothing before the fifth call', () => {
    expect(taught(1.5, 200, 4).estimate(chat('hello'))).toMatchObject({ input: 1_000, output: 4_000 });
    expect(taught(1.5, 200, 5).estimate(chat('hello'))).toMatchObject({ input: 1_500, output: 200 });
  });

  it('stays above the usual answer by how far answers stray', () => {
    const estimator = new Estimator({ maxOutput: 4_000 });
    for (let n = 0; n < 50; n += 1) estimator.learn(chat('hello'), estimator.estimate(chat('hello')), usage(9, n % 2 === 0 ? 100 : 300));
    const { output } = estimator.estimate(chat('hello'));
    expect(output).toBeGreaterThan(300);
    expect(output).toBeLessThan(500);
  });

  it.each([
    [100, 4_000],
    [0.001, 250],
  ])('is bounded: a factor of %d corrects 1,000 tokens to %d', (ratio, input) => {
    expect(taught(ratio, 200).estimate(chat('hello')).input).toBe(input);
  });

  it('never expects more than was asked for', () => {
    expect(taught(1, 3_000).estimate(chat('hello', { max_tokens: 50 })).output).toBe(50);
  });

  it('learns each model by itself, and forgets one or all', () => {
    const estimator = taught(2, 200);
    expect(estimator.estimate(call({}, 'chat/completions', 'another')).input).toBe(1_000);
    estimator.reset('another');
    expect(estimator.estimate(chat('hello')).input).toBe(2_000);
    estimator.reset('gpt-5');
    expect(estimator.estimate(chat('hello')).input).toBe(1_000);
    const again = taught(2, 200);
    again.reset();
    expect(again.status()).toEqual([]);
  });

  it('corrects nothing where learning is off, and shows its error all the same', () => {
    const estimator = taught(2, 200, 20, { learning: 'off' });
    expect(estimator.estimate(chat('hello'))).toMatchObject({ input: 1_000, output: 4_000 });
    expect(estimator.status()[0]).toMatchObject({ inputError: 0.5, outputError: 19 });
  });

  it('says what it learned in one line', () => {
    expect(taught(2, 200, 5).status().map((model) => model.summary())).toEqual([
      'gpt-5, 5 calls: prompt counted × 2.00 (the count was off by 50 %), answer 200 tokens (the estimate was off by 1900 %)',
    ]);
    expect(taught(2, 200, 1).status()[0]?.summary()).toBe(
      'gpt-5, 1 calls: prompt as counted (the count was off by 50 %), answer the most asked for (the estimate was off by 1900 %)',
    );
  });

  it('learns nothing from a usage of nothing', () => {
    const estimator = new Estimator({ count: () => 0 });
    estimator.learn(call({}, 'embeddings'), estimator.estimate(call({}, 'embeddings')), usage(0, 0));
    expect(estimator.status()[0]).toMatchObject({ calls: 0, inputFactor: null, output: null });
  });
});

describe('the label of a call', () => {
  it('is its model and operation', () => {
    expect(labelOf(chat('hello'))).toBe('gpt-5 · chat/completions');
    expect(labelOf(call({}, 'responses', ''))).toBe('responses');
  });
});
