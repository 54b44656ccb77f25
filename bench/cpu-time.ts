/** CPU time of the main thread: what other programs and the collector's helper threads do on this machine is not in it. */
import { openSync, readSync } from 'node:fs';

interface CpuClock {
  readonly source: string;
  /** ns of CPU that the main thread has used so far. */
  readonly read: () => number;
}

type ThreadCpuUsage = () => { readonly user: number; readonly system: number };

/** Node 23.9 and newer can tell; older ones count all their threads, so there the kernel is asked. */
function bestClock(): CpuClock {
  const { threadCpuUsage } = process as { threadCpuUsage?: ThreadCpuUsage };
  if (threadCpuUsage !== undefined) {
    const read = (): number => {
      const { user, system } = threadCpuUsage.call(process);
      return (user + system) * 1_000;
    };
    return { source: 'process.threadCpuUsage', read };
  }
  if (process.platform === 'linux') return { source: 'schedstat of the main thread', read: schedstat() };
  const read = (): number => {
    const { user, system } = process.cpuUsage();
    return (user + system) * 1_000;
  };
  return { source: 'process.cpuUsage, all threads', read };
}

function schedstat(): () => number {
  const file = openSync(`/proc/self/task/${process.pid}/schedstat`, 'r');
  const text = Buffer.alloc(64);
  const never = new Int32Array(new SharedArrayBuffer(4));
  return () => {
    // The kernel adds up at each tick, several ms apart, and whenever the thread sleeps: so it sleeps, 50 µs.
    Atomics.wait(never, 0, 0, 0.05);
    const length = readSync(file, text, 0, text.length, 0);
    return Number(text.toString('latin1', 0, length).split(' ')[0]);
  };
}

export const cpuClock = bestClock();
