/** What the core asks of Node: the old space of the heap, a collection, and the asynchronous context. */
import { AsyncResource } from 'node:async_hooks';
import { Session } from 'node:inspector';
import { constants, PerformanceObserver } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import { resourceLimits } from 'node:worker_threads';
import type { Context, HeapPort, HeapReading } from './default.js';

export type { Context, HeapPort, HeapReading } from './default.js';

const MIB = 1024 * 1024;
/** V8 reserves three semispaces of 16 MiB for the young generation on 64-bit unless told otherwise. */
const DEFAULT_SEMI_SPACE_MIB = 16;
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

/** The old space's limit: `heap_size_limit` has the young generation in it, which no long-lived object can fill. */
function oldSpaceLimit(): number {
  const limits = resourceLimits as { readonly maxOldGenerationSizeMb?: number };
  const stated = limits.maxOldGenerationSizeMb ?? flag('max-old-space-size');
  if (stated !== null && stated > 0) return stated * MIB;
  const semiSpace = flag('max-semi-space-size') ?? DEFAULT_SEMI_SPACE_MIB;
  const { heap_size_limit: limit } = getHeapStatistics();
  return Math.max(limit / 2, limit - 3 * semiSpace * MIB);
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
    collect(): void {
      const { gc } = globalThis as { readonly gc?: () => void };
      if (gc) gc();
      else collectByInspector();
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

/** In-process sessions answer before `post` returns. */
function collectByInspector(): void {
  const session = new Session();
  session.connect();
  try {
    session.post('HeapProfiler.collectGarbage');
  } finally {
    session.disconnect();
  }
}

/** The asynchronous context of the caller, to run a delivery in, whoever's release caused it. */
export function currentContext(): Context {
  const resource = new AsyncResource('rx-admission', { requireManualDestroy: false });
  return (work) => resource.runInAsyncScope(work);
}
