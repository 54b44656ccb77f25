/** The registry of databases: one name, one provider. */
import { countingProvider, type CountingProvider } from './counting-provider.js';
import type { DatabaseProvider } from './provider.js';

/** The class of a provider. */
export type ProviderType<P extends DatabaseProvider> = abstract new (...options: never[]) => P;

/** What `registerDefault` needs; what is left out is read from `env`. */
export interface DefaultDatabaseOptions {
  /** Else `RX_ADMISSION_DB_NAME`, else `default`. */
  readonly name?: string | undefined;
  /** Permits; else `RX_ADMISSION_DB_MAX_CONCURRENT`. Unset, nothing is registered: no pool's size says how many to hold. */
  readonly maxConcurrent?: number | undefined;
  /** Where the two variables are read; the process's own unless given. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
}

const NAME = 'RX_ADMISSION_DB_NAME';
const MAX_CONCURRENT = 'RX_ADMISSION_DB_MAX_CONCURRENT';

/**
 * The databases of an application, by name.
 *
 * @example
 * ```ts
 * databases.register(pgProvider({ name: 'orders', pool, maxConcurrent: 8 }));
 * const orders = withDatabase(databases.get('orders', PgProvider<PoolClient>));
 * ```
 */
export class Databases {
  readonly #providers = new Map<string, DatabaseProvider>();

  /** The registered names, sorted. */
  get names(): readonly string[] {
    return [...this.#providers.keys()].sort();
  }

  /**
   * The provider, under its name. The same one again is nothing.
   *
   * @throws Error when the name is another provider's, which stays.
   */
  register<P extends DatabaseProvider>(provider: P): P {
    const known = this.#providers.get(provider.name);
    if (known !== undefined && known !== provider) {
      throw new Error(`the database "${provider.name}" is registered already; one name is one database: unregister it first`);
    }
    this.#providers.set(provider.name, provider);
    return provider;
  }

  /**
   * @param type the class that the provider must be of
   * @throws Error when nothing is registered under the name, or one of another class is.
   */
  get(name: string): DatabaseProvider;
  get<P extends DatabaseProvider>(name: string, type: ProviderType<P>): P;
  get(name: string, type?: ProviderType<DatabaseProvider>): DatabaseProvider {
    const provider = this.#providers.get(name);
    if (provider === undefined) {
      throw new Error(`no database "${name}" is registered; registered are: ${this.names.join(', ') || 'none'}`);
    }
    const { constructor } = provider;
    if (type !== undefined && !(provider instanceof type)) {
      throw new Error(`the database "${name}" is a ${constructor.name}, not a ${type.name}`);
    }
    return provider;
  }

  /** Forgets this very provider; nothing where its name is another one's. */
  unregister(provider: DatabaseProvider): void {
    if (this.#providers.get(provider.name) === provider) this.#providers.delete(provider.name);
  }

  /**
   * Registers a counting provider, from the options or the environment; null, and nothing, without `maxConcurrent`.
   *
   * @throws RangeError when `maxConcurrent` is not a positive whole number, and Error when the name is taken.
   *
   * @example
   * ```ts
   * databases.registerDefault(); // RX_ADMISSION_DB_MAX_CONCURRENT=8 in the environment: "default", 8 permits
   * ```
   */
  registerDefault({ name, maxConcurrent, env = environment() }: DefaultDatabaseOptions = {}): CountingProvider | null {
    const permits = maxConcurrent ?? permitsOf(env[MAX_CONCURRENT]);
    if (permits === null) return null;
    return this.register(countingProvider({ name: name ?? written(env[NAME]) ?? 'default', maxConcurrent: permits }));
  }
}

/** The application's databases. */
export const databases = new Databases();

/** A variable that is empty is one that is not set. */
const written = (value: string | undefined): string | undefined => (value?.trim() === '' ? undefined : value?.trim());

function permitsOf(value: string | undefined): number | null {
  const permits = written(value);
  if (permits === undefined) return null;
  if (/^[1-9]\d*$/.test(permits)) return Number(permits);
  throw new RangeError(`${MAX_CONCURRENT} must be a positive whole number, not ${JSON.stringify(permits)}`);
}

/** The variables of the process; a browser has none, and Node's are read without loading anything of Node. */
function environment(): Readonly<Record<string, string | undefined>> {
  const { process } = globalThis as { readonly process?: { readonly env?: Readonly<Record<string, string | undefined>> } };
  return process?.env ?? {};
}
