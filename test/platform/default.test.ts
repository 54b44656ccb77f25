/** A runtime that shows no heap and keeps no context: browsers and the like. */
import { describe, expect, it } from 'vitest';
import { channel, contextStorage, currentContext, defaultHeap, listenTo } from '../../src/platform/default.js';

describe('a runtime without Node', () => {
  it('has no heap to read, and says which option gives one', () => {
    expect(() => defaultHeap()).toThrow(
      new Error('this runtime shows no heap: give the MemoryGate a `heap` option to read it by'),
    );
  });

  it('publishes to whoever listens, as long as they do', () => {
    const heard: unknown[] = [];
    const own = channel('own');
    const stop = listenTo('own', (message) => heard.push(message));
    expect([own.hasSubscribers, channel('other').hasSubscribers]).toEqual([true, false]);
    own.publish('one');
    stop();
    own.publish('two');
    expect([heard, own.hasSubscribers]).toEqual([['one'], false]);
  });

  it('has no context to keep', () => {
    expect(currentContext()).toBeNull();
    expect(() => contextStorage()).toThrow('this runtime keeps no asynchronous context');
  });
});
