/** The parts of `pg` that the providers use, so that nothing here loads it. */

/** A client of `pg`, whoever's pool it is from. */
export interface PgSession {
  query(text: string): PromiseLike<unknown>;
  on(event: 'error' | 'end', listener: (error?: Error) => void): unknown;
  removeListener(event: 'error' | 'end', listener: (error?: Error) => void): unknown;
}

/** A client of `pg`, checked out of a pool of `pg`. */
export interface PgClient extends PgSession {
  /** With `true` the pool destroys it. */
  release(destroy?: boolean): void;
}

/** A pool of `pg`. Its clients are whatever it says they are. One that knows no callback promises the client instead. */
export interface PgPool {
  connect(): Promise<PgClient>;
  connect(callback: (error: Error | undefined, client: PgClient | undefined) => void): unknown;
}

/** The client that a pool hands out. Written for the overloads of `pg`, of which inference sees the last one only. */
export type ClientOf<P extends PgPool> = P extends {
  connect: { (): Promise<infer C extends PgClient>; (callback: never): void };
}
  ? C
  : Awaited<ReturnType<P['connect']>>;

/** What a client of `pg` has beside its types. */
export interface PgInternals {
  readonly processID?: number | null;
  readonly secretKey?: number | null;
  readonly host?: string;
  readonly port?: number;
  readonly readyForQuery?: boolean;
  readonly connection?: PgWire;
  getTransactionStatus?(): string | null;
}

/** The protocol connection under a client. */
export interface PgWire {
  readonly stream: { destroy(): unknown };
  connect(portOrPath: number | string, host?: string): void;
  cancel(processID: number, secretKey: number): void;
  on(event: 'connect' | 'end' | 'error', listener: () => void): unknown;
}
