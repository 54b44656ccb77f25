/** Where a random trace has come to: what its next step and its questions are chosen by. */
import type { Theme } from './accounts-of.js';
import type { Random } from './random.js';
import type { ModelWorld } from './world.js';
import type { AccountSpec, Given } from '../conformance/given.js';
import type { Step } from '../conformance/steps.js';

export class Situation {
  readonly steps: Step[] = [];

  constructor(
    readonly random: Random,
    readonly theme: Theme,
    readonly given: Given,
    readonly world: ModelWorld,
  ) {}

  get accounts(): readonly string[] {
    return [...this.given.accounts.keys()];
  }

  named(...kinds: AccountSpec['kind'][]): readonly string[] {
    return [...this.given.accounts].filter(([, { kind }]) => kinds.includes(kind)).map(([name]) => name);
  }

  spec(name: string): AccountSpec {
    const spec = this.given.accounts.get(name);
    if (!spec) throw new Error(`there is no account ${name}`);
    return spec;
  }
}
