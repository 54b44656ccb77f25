/** Starts a child process for the tools: bounded in time, its output collected, its whole tree ended with it. */
import { spawn } from 'node:child_process';

export interface Ran {
  /** The exit code; null where the time limit or a signal ended it. */
  readonly code: number | null;
  readonly output: string;
  readonly seconds: number;
  readonly timedOut: boolean;
}

export interface RunOptions {
  readonly cwd?: string;
  readonly limitMs: number;
}

/** Runs `command` without a shell, a terminal or standard input. */
export function run(command: string, args: readonly string[], { cwd, limitMs }: RunOptions): Promise<Ran> {
  const began = performance.now();
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    let timedOut = false;
    const collect = (chunk: Buffer): void => {
      output += chunk.toString();
    };
    child.stdout.on('data', collect);
    child.stderr.on('data', collect);
    const timer = setTimeout(() => {
      timedOut = true;
      // Detached makes the child a group leader, so that what it started ends with it.
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    }, limitMs);
    child.on('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    child.on('close', (code) => {
      clearTimeout(timer);
      resolve({ code, output, seconds: (performance.now() - began) / 1000, timedOut });
    });
  });
}

/** As `run`, but anything other than exit code 0 throws, with the output in the message. */
export async function must(command: string, args: readonly string[], options: RunOptions): Promise<string> {
  const ran = await run(command, args, options);
  if (ran.code === 0) return ran.output;
  const how = ran.timedOut ? `was ended after ${options.limitMs} ms` : `ended with ${ran.code ?? 'a signal'}`;
  throw new Error(`${command} ${args.join(' ')} ${how}\n${ran.output}`);
}
