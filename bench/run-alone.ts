/** Starts a program in a process of its own: what another one did to the heap and to the compiler is not in its figures. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Row } from './row.js';
import { toEnvironment, type Settings } from './settings.js';

/** A million promises of p-queue take most of a gigabyte; the default limit depends on the machine. */
const FLAGS = ['--expose-gc', '--max-old-space-size=4096'];

/** @throws Error when the program fails: a job was lost, or more ran at once than may. */
export async function runAlone(id: string, settings: Settings, found: (row: Row) => void): Promise<void> {
  const program = fileURLToPath(new URL('child.js', import.meta.url));
  const child = spawn(process.execPath, [...FLAGS, program, id], {
    env: { ...process.env, ...toEnvironment(settings) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  for await (const line of createInterface(child.stdout)) found(JSON.parse(line) as Row);
  const code = await ended;
  if (code !== 0) throw new Error(`${id} ended with ${code ?? 'a signal'}`);
}
