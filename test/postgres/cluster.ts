/** A throw-away cluster: what both kinds of our own servers have in common. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import type { Postgres, PostgresKind } from './postgres.js';

/** The user that a server of root's runs as. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

export interface ClusterOptions {
  readonly kind: PostgresKind;
  /** The path of `postgres`. */
  readonly binary: string;
  readonly directory: string;
  readonly owner: Owner | null;
  /** Takes the directory away. */
  readonly remove: () => Promise<void>;
}

const USER = 'postgres';

/** Durable it need not be: nothing here outlives the test, and a server that syncs is slow. */
const FLAGS = ['fsync=off', 'listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_connections=60'];

const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGQUIT');
});

export async function startCluster(options: ClusterOptions): Promise<Postgres> {
  const port = await freePort();
  let child = await startServer(options, port);
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    // Immediate: no checkpoint, no goodbye.
    child.kill('SIGQUIT');
    await exited;
  };
  return {
    kind: options.kind,
    url: `postgres://${USER}@127.0.0.1:${port}/postgres`,
    server: {
      stop,
      start: async () => {
        child = await startServer(options, port);
      },
    },
    close: async () => {
      await stop();
      await options.remove();
    },
  };
}

async function startServer({ binary, directory, owner }: ClusterOptions, port: number): Promise<ChildProcess> {
  const flags = FLAGS.flatMap((flag) => ['-c', flag]);
  const child = spawn(binary, ['-D', directory, '-p', String(port), ...flags], {
    stdio: ['ignore', 'ignore', 'pipe'],
    cwd: directory,
    env: { ...process.env, LC_MESSAGES: 'C' },
    ...owner,
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  let said = '';
  await new Promise<void>((resolve, reject) => {
    child.stderr.on('data', (text: Buffer) => {
      said += text.toString();
      if (said.includes('ready to accept connections')) resolve();
    });
    child.once('error', reject);
    child.once('exit', () => {
      reject(new Error(`Postgres ended before it was ready:\n${said}`));
    });
  });
  return child;
}

export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
