/** What the core asks of Node: the old space of the heap, a collection, and the asynchronous context. */
import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';
import { channel as channelOf, subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Session } from 'node:inspector';
import { constants, PerformanceObserver } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import { resourceLimits } from 'node:worker_threads';
import type { Channel, Context, ContextStorage, HeapPort, HeapReading, Hear } from './default.js';

export type { Channel, Context, ContextStorage, HeapPort, HeapReading, Hear } from './default.js';

const MIB = 1024 * 1024;
/** A reading taken after a major collection counts for this long; then garbage counts as load again. */
const FRESH = 2_000;

/** A V8 flag in MiB, as V8 takes it: the command line goes before NODE_OPTIONS, and the last of several wins. */
function flag(name: string): number | null {
  const pattern = new RegExp(`^--${name.replace(/-/g, '[-_]')}=(\\d+)$`);
  const values = [...(process.env.NODE_OPTIONS ?? '').split(/\s+/), ...process.execArgv].flatMap(
    (word) => pattern.exec(word)?.[1] ?? [],
  );
  const last = values.at(-1);
  return last === undefined ? null : Number(last);
}

/** A semispace, MiB: V8 reserves three for the young generation. Its default is not to be asked for; these are measured. */
function semiSpace(): number {
  const [major = 0, minor = 0] = process.versions.v8.split('.').map(Number);
  // Node 20 and 22 have V8 11.3 and 12.4; Node 24 and 25 have 13.6 and 14.1; Node 26 has 14.6.
  const usual = major < 13 ? 16 : major > 14 || (major === 14 && minor >= 6) ? 32 : 64;
  return flag('max-semi-space-size') ?? usual;
}

/** The old space's limit: `heap_size_limit` has the young generation in it, which no long-lived object can fill. */
function oldSpaceLimit(): number {
  const limits = resourceLimits as { readonly maxOldGenerationSizeMb?: number };
  const stated = limits.maxOldGenerationSizeMb ?? flag('max-old-space-size');
  if (stated !== null && stated > 0) return stated * MIB;
  const { heap_size_limit: limit } = getHeapStatistics();
  return Math.max(limit / 2, limit - 3 * semiSpace() * MIB);
}

/** The process's own heap: what the last major collection left while that is fresh, else what is used now. */
export function defaultHeap(): HeapPort {
  const max = oldSpaceLimit();
  let afterMajor: { readonly used: number; readonly at: number } | null = null;
  return {
    read(): HeapReading {
      const { used_heap_size: used } = getHeapStatistics();
      const isFresh = afterMajor !== null && performance.now() - afterMajor.at < FRESH;
      return { used: isFresh && afterMajor ? Math.min(used, afterMajor.used) : used, max };
    },
    collect(): void | Promise<void> {
      const { gc } = globalThis as { readonly gc?: () => void };
      if (gc === undefined) return collectByInspector();
      gc();
    },
    watch(): () => void {
      const observer = new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) {
          const { detail } = entry as typeof entry & { readonly detail?: { readonly kind?: number } };
          if (detail?.kind !== constants.NODE_PERFORMANCE_GC_MAJOR) continue;
          afterMajor = { used: getHeapStatistics().used_heap_size, at: performance.now() };
        }
      });
      observer.observe({ entryTypes: ['gc'] });
      return () => {
        observer.disconnect();
      };
    },
  };
}

/** Resolves once V8 has collected: the inspector does it in a task of its own, which a session that ends takes along. */
function collectByInspector(): Promise<void> {
  return new Promise((resolve, reject) => {
    const session = new Session();
    session.connect();
    session.post('HeapProfiler.collectGarbage', (error) => {
      // Never in here: a session that ends inside its own answer hangs the process.
      setImmediate(() => {
        session.disconnect();
        if (error) reject(error);
        else resolve();
      });
    });
  });
}

/** The asynchronous context of the caller, to run a delivery in, whoever's release caused it. */
export function currentContext(): Context | null {
  return new AsyncResource('rx-admission');
}

/** One of the process's channels: tracers and the like find it by its name. */
export function channel(name: string): Channel {
  return channelOf(name);
}

/** @returns what stops it. */
export function listenTo(name: string, hear: Hear): () => void {
  subscribe(name, hear);
  return () => void unsubscribe(name, hear);
}

/** A value that follows the asynchronous context, however many promises and timers it goes through. */
export function contextStorage<T>(): ContextStorage<T> {
  return new AsyncLocalStorage<T | undefined>();
}
