/** What `rx-admission/database` exports. */
export type { AcquireOptions, DatabaseContext, DatabaseHandle, DatabaseProvider } from './provider.js';
export type { Condition, HeldConnection } from './held-connection.js';
export { HoldingProvider, type HoldingProviderOptions, type ProviderOptions } from './holding-provider.js';
export { CountingProvider, countingProvider } from './counting-provider.js';
export {
  PgProvider,
  drizzleProvider,
  pgProvider,
  type DrizzleProviderOptions,
  type PgProviderOptions,
} from './pg-provider.js';
export type { ClientOf, PgClient, PgPool } from './pg-types.js';
export type { DatabaseOptions } from './connections.js';
export { DatabaseWork, withDatabase, withDatabases, type DatabasePart, type ValuesOf } from './with-database.js';
export { Databases, databases, type DefaultDatabaseOptions, type ProviderType } from './databases.js';
export { TransactionProvider, transactionProvider } from './transaction-provider.js';
export {
  MikroOrmProvider,
  mikroOrmProvider,
  type MikroEntityManager,
  type MikroOrmProviderOptions,
} from './mikro-orm-provider.js';
