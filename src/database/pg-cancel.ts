/** Severs a client of `pg`: what it runs is cancelled on the server, and its socket is destroyed. */
import type { PgInternals, PgWire } from './pg-types.js';

/** A server that does not take the request within this long is gone; waiting for it keeps a permit from others. */
const CANCEL_LIMIT_MS = 1_000;

/**
 * Destroys the socket now. Where a statement runs, the server is told first: it reads a closed socket only when it next
 * writes, and would work on until then.
 *
 * @returns settles, and never rejects, once the server has taken the request; null where none was due.
 */
export function severPg(client: object): Promise<void> | null {
  const { processID, secretKey, readyForQuery, connection } = client as PgInternals;
  const busy = readyForQuery === false && typeof processID === 'number' && typeof secretKey === 'number';
  const cancelled = busy ? cancel(client, processID, secretKey) : null;
  connection?.stream.destroy();
  return cancelled;
}

function cancel(client: object, processID: number, secretKey: number): Promise<void> | null {
  const { host = 'localhost', port = 5432 } = client as PgInternals;
  const wire = anotherWire(client, host, port);
  if (wire === undefined) return null;
  return new Promise((resolve) => {
    const over = (): void => {
      clearTimeout(limit);
      wire.stream.destroy();
      resolve();
    };
    const limit = setTimeout(over, CANCEL_LIMIT_MS);
    // The server closes this connection once it has signalled the other one's process.
    wire.on('end', over);
    wire.on('error', over);
    wire.on('connect', () => {
      wire.cancel(processID, secretKey);
    });
    if (host.startsWith('/')) wire.connect(`${host}/.s.PGSQL.${port}`);
    else wire.connect(port, host);
  });
}

/** The wire of a fresh client of the same make. A cancel request carries no secret but the key, and is taken without TLS. */
function anotherWire(client: object, host: string, port: number): PgWire | undefined {
  const { constructor: Client } = client as { constructor: new (config: object) => PgInternals };
  return new Client({ host, port, ssl: false }).connection;
}
