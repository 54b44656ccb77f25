import { Subject } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { oneAtATime } from '../../src/evaluator/inbox.js';

describe('oneAtATime', () => {
  it('delivers what arrives during a delivery after it, in order, and says when it is empty again', () => {
    const source = new Subject<number>();
    const seen: (number | string)[] = [];
    source.pipe(oneAtATime(() => seen.push('empty'))).subscribe((value) => {
      seen.push(value);
      if (value !== 1) return;
      source.next(2);
      source.next(3);
      seen.push('1 is done');
    });
    source.next(1);
    expect(seen).toEqual([1, '1 is done', 2, 3, 'empty']);
  });

  it('passes the end of its source on', () => {
    const ends: string[] = [];
    const observer = { complete: () => ends.push('complete'), error: (error: unknown) => ends.push(String(error)) };
    const completes = new Subject<number>();
    completes.pipe(oneAtATime(() => undefined)).subscribe(observer);
    completes.complete();
    const fails = new Subject<number>();
    fails.pipe(oneAtATime(() => undefined)).subscribe(observer);
    fails.error(new Error('broken'));
    expect(ends).toEqual(['complete', 'Error: broken']);
  });
});
