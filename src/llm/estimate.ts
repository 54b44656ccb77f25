/** How many tokens a call will take, before it is made; and how wrong that was, learned for each model. */
import type { LlmCall } from './call.js';
import { Learned } from './learned.js';
import type { Usage } from './usage.js';

/** What a call will take; what a provider reserves of it is a matter of its charge policy. */
export interface Estimate {
  /** The prompt as counted, before any correction. */
  readonly counted: number;
  /** The prompt, corrected by what this model was seen to use. */
  readonly input: number;
  /** The most that all answers together may take. */
  readonly maxOutput: number;
  /** Whether the call itself says how much that is. */
  readonly isBounded: boolean;
  /** What the answers are expected to take; `maxOutput` until something was learned. */
  readonly output: number;
}

export interface EstimatorOptions {
  /** Tokens of a text; a quarter of its bytes in UTF-8 unless given. Called with the prompt's JSON. */
  readonly count?: ((text: string, model: string) => number) | undefined;
  /** Tokens of one answer where the call sets no limit. 4,096 unless given. */
  readonly maxOutput?: number | undefined;
  /** Tokens of one image or other medium in the prompt. 1,600 unless given. */
  readonly media?: number | undefined;
  /** `off`: what was seen corrects nothing, and is shown all the same. `on` unless given. */
  readonly learning?: 'on' | 'off' | undefined;
}

const BYTES_PER_TOKEN = 4;
/** What most chat applications ask for; a provider that reserves more says so in its charge policy. */
const USUAL_ANSWER = 4_096;
/** The largest that a picture costs at Anthropic (1,568) and, nearly, at OpenAI (1,105). */
const LARGEST_PICTURE = 1_600;

/** A correction never goes beyond a factor of four: what is further off is a mistake, not a measure. */
const BOUNDS = { least: 0.25, most: 4 };

/**
 * Estimates calls, and learns from what they used.
 *
 * The correction of the prompt is the usual ratio of used to counted, plus twice its usual deviation; the expected answer is
 * built alike. Both are used from the fifth call of a model on.
 *
 * @example
 * ```ts
 * import { countTokens } from 'gpt-tokenizer';
 * const estimator = new Estimator({ count: countTokens });
 * const fetch = admittedFetch(admission, { tokens: gpt, estimator });
 * console.log(estimator.status().map((model) => model.summary()));
 * ```
 */
export class Estimator {
  readonly #count: (text: string, model: string) => number;
  readonly #maxOutput: number;
  readonly #media: number;
  readonly #learning: 'on' | 'off';
  readonly #models = new Map<string, { readonly input: Learned; readonly output: Learned }>();

  /** @throws RangeError when a number of tokens is none. */
  constructor(options: EstimatorOptions = {}) {
    this.#count = options.count ?? bytesOverFour;
    this.#maxOutput = tokens('maxOutput', options.maxOutput ?? USUAL_ANSWER);
    this.#media = tokens('media', options.media ?? LARGEST_PICTURE);
    this.#learning = options.learning ?? 'on';
  }

  /** @throws RangeError when the tokenizer answers with what is no number of tokens. */
  estimate(call: LlmCall): Estimate {
    const text = tokens('what count() answered', this.#count(call.prompt, call.model));
    const counted = Math.ceil(text) + call.tokenIds + call.media * this.#media;
    const maxOutput = Math.ceil((call.maxOutput ?? this.#maxOutput) * call.answers);
    const learned = this.#learning === 'on' ? this.#models.get(call.model) : undefined;
    const factor = learned?.input.expected ?? 1;
    const answer = learned?.output.expected ?? null;
    return {
      counted,
      input: Math.ceil(counted * Math.min(BOUNDS.most, Math.max(BOUNDS.least, factor))),
      maxOutput,
      isBounded: call.maxOutput !== null,
      output: answer === null ? maxOutput : Math.min(maxOutput, Math.ceil(answer * call.answers)),
    };
  }

  /** What the call really used, once that is known. */
  learn(call: LlmCall, { counted, output }: Estimate, usage: Usage): void {
    let learned = this.#models.get(call.model);
    if (learned === undefined) {
      learned = { input: new Learned(), output: new Learned() };
      this.#models.set(call.model, learned);
    }
    if (counted > 0 && usage.input > 0) {
      learned.input.add(Math.min(BOUNDS.most, Math.max(BOUNDS.least, usage.input / counted)), counted / usage.input - 1);
    }
    if (call.maxOutput !== 0) learned.output.add(usage.output / call.answers, output / Math.max(1, usage.output) - 1);
  }

  /** What was learned of each model. */
  status(): ModelEstimateStatus[] {
    return [...this.#models].map(([model, { input, output }]) => new ModelEstimateStatus(model, input, output));
  }

  /** Forgets what was learned of a model, or of all. */
  reset(model?: string): void {
    if (model === undefined) this.#models.clear();
    else this.#models.delete(model);
  }
}

/** What an estimator learned of one model, at one instant. */
export class ModelEstimateStatus {
  readonly calls: number;
  /** By what the counted prompt is multiplied; null while too few calls were seen. */
  readonly inputFactor: number | null;
  /** How far the count was off the prompt used, as a share of it, on average. */
  readonly inputError: number;
  /** Tokens expected of one answer; null while too few calls were seen. */
  readonly output: number | null;
  /** How far the expected answer was off the one that came, as a share of it, on average. */
  readonly outputError: number;

  constructor(
    readonly model: string,
    input: Learned,
    output: Learned,
  ) {
    this.calls = Math.max(input.count, output.count);
    this.inputFactor = input.expected;
    this.inputError = input.error;
    this.output = output.expected;
    this.outputError = output.error;
  }

  summary(): string {
    const off = (error: number): string => `off by ${(error * 100).toFixed(0)} %`;
    const factor = this.inputFactor === null ? 'as counted' : `counted × ${this.inputFactor.toFixed(2)}`;
    const answer = this.output === null ? 'the most asked for' : `${this.output.toFixed(0)} tokens`;
    return (
      `${this.model}, ${String(this.calls)} calls: prompt ${factor} (the count was ${off(this.inputError)}), ` +
      `answer ${answer} (the estimate was ${off(this.outputError)})`
    );
  }
}

const encoder = new TextEncoder();

const bytesOverFour = (text: string): number => encoder.encode(text).length / BYTES_PER_TOKEN;

function tokens(what: string, value: number): number {
  if (Number.isFinite(value) && value >= 0) return value;
  throw new RangeError(`${what} must be a number of tokens from zero up, not ${String(value)}`);
}
