/** What the jobs of a random trace ask for: mostly what fits, often what just does or just does not, sometimes what never can. */
import type { Situation } from './situation.js';
import type { Amounts } from '../conformance/amounts.js';

export class Demands {
  constructor(private readonly at: Situation) {}

  need(): ReadonlyMap<string, Amounts> {
    if (this.at.random.chance(0.06)) return new Map();
    const names = this.at.random.some([...this.at.given.accounts.keys()], this.at.random.chance(0.5) ? 1 : 3);
    return new Map(names.map((name) => [name, this.amounts(name)]));
  }

  amounts(name: string): Amounts {
    const { random } = this.at;
    const spec = this.at.spec(name);
    const impossible = random.chance(0.02);
    switch (spec.kind) {
      case 'gate':
        return {
          units: impossible
            ? spec.capacity + 1
            : random.chance(0.005)
              ? 0
              : random.whole(1, random.chance(0.6) ? 1 : spec.capacity),
        };
      case 'window':
        return {
          units: impossible ? spec.maxRequests + 1 : random.whole(1, random.chance(0.8) ? 1 : spec.maxRequests),
        };
      case 'double':
        return { units: random.of([1, 1, 1, 2]) };
      case 'bucket': {
        if (impossible && random.chance(0.5) && spec.requests < 100)
          return { list: Array.from({ length: spec.requests + 1 }, () => 1) };
        if (impossible) return { list: [spec.tokens + random.of([1, 10, spec.tokens])] };
        const capacity = Number(this.at.world.property(name, 'maxTokens'));
        const level = Math.floor(Number(this.at.world.property(name, 'tokens')));
        if (random.chance(0.15) && level > 0) return { list: [level + random.of([0, 1])] };
        const amount = (): number =>
          random.chance(0.6)
            ? 10 * random.whole(0, capacity / 40)
            : random.whole(0, capacity) + random.of([0, 0, 0, 0.5, 0.125]);
        return { list: Array.from({ length: random.of([1, 1, 1, 2, 3]) }, amount) };
      }
    }
  }
}
