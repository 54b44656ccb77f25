/** A real Postgres for tests and examples: the one of DATABASE_URL, else a throw-away one of the system, else of npm. */
import { Client } from 'pg';
import { startEmbedded } from './embedded.js';
import { startSystem, systemBinaries } from './system.js';

/** What can be done to a server of one's own. */
export interface Server {
  /** Goes away at once, as after a crash: every connection is cut. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

export interface Postgres {
  readonly kind: 'given' | 'system' | 'embedded';
  /** Of an empty database. */
  readonly url: string;
  /** Null where the server is not ours to stop. */
  readonly server: Server | null;
  /** Takes the database away, and the server where it is ours. */
  close(): Promise<void>;
}

export type PostgresKind = Postgres['kind'];

/** What this machine has, the preferred one first. The one of npm is always there. */
export function kindsOfPostgres(): readonly PostgresKind[] {
  const kinds: PostgresKind[] = ['embedded'];
  if (systemBinaries() !== null) kinds.unshift('system');
  if (process.env.DATABASE_URL !== undefined) kinds.unshift('given');
  return kinds;
}

export async function startPostgres(kind: PostgresKind | undefined = kindsOfPostgres()[0]): Promise<Postgres> {
  switch (kind) {
    case 'given':
      return databaseOf(process.env.DATABASE_URL ?? '');
    case 'system':
      return startSystem();
    case 'embedded':
    case undefined:
      return startEmbedded();
  }
}

/** A database of its own on a server that others use as well. */
async function databaseOf(given: string): Promise<Postgres> {
  const name = `rx_admission_${process.pid}_${Date.now()}`;
  const url = new URL(given);
  url.pathname = name;
  await execute(given, `CREATE DATABASE ${name}`);
  return {
    kind: 'given',
    url: url.href,
    server: null,
    close: () => execute(given, `DROP DATABASE ${name} WITH (FORCE)`),
  };
}

/** Runs `sql` on a connection of its own. */
export async function execute(url: string, sql: string): Promise<void> {
  await rowsOf(url, sql);
}

export async function rowsOf(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client(url);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}
