/** A runtime that shows no heap and keeps no context: browsers and the like. */
import { describe, expect, it } from 'vitest';
import { contextStorage, currentContext, defaultHeap } from '../../src/platform/default.js';

describe('a runtime without Node', () => {
  it('has no heap to read, and says which option gives one', () => {
    expect(() => defaultHeap()).toThrow(
      new Error('this runtime shows no heap: give the MemoryGate a `heap` option to read it by'),
    );
  });

  it('has no context to keep', () => {
    expect(currentContext()).toBeNull();
    expect(() => contextStorage()).toThrow('this runtime keeps no asynchronous context');
  });
});
