/** MikroORM on a table of rows. */
import { EntitySchema, MikroORM, type SqlEntityManager } from '@mikro-orm/postgresql';
import { mikroOrmProvider } from 'rx-admission/database';
import type { DatabaseSubject } from 'rx-admission/testing';
import type { Postgres } from '../postgres/postgres.js';
import { BOUND, LINGER, tableOn, type Table } from './tables.js';

export interface Row {
  row: string;
}

export interface Mikro {
  readonly orm: MikroORM;
  readonly table: Table;
  readonly schema: EntitySchema<Row>;
  /** Connections that are out of the ORM's pool. */
  readonly out: () => number;
}

export async function mikroOn(postgres: Postgres): Promise<Mikro> {
  const table = await tableOn(postgres);
  const schema = new EntitySchema<Row>({
    name: 'Row',
    tableName: table.name,
    properties: { row: { type: 'string', primary: true } },
  });
  const orm = await MikroORM.init({
    entities: [schema],
    clientUrl: table.url,
    pool: { min: 0, max: 4 },
    driverOptions: { connection: { application_name: table.name }, log: { warn: () => undefined } },
    logger: () => undefined,
    discovery: { warnWhenNoEntities: false },
  });
  const { client } = orm.em.getConnection().getKnex() as unknown as { client: { pool: { numUsed(): number } } };
  return { orm, table, schema, out: () => client.pool.numUsed() };
}

export async function mikroSubject(postgres: Postgres): Promise<DatabaseSubject<unknown>> {
  const { orm, table, out } = await mikroOn(postgres);
  return {
    ...table.sides,
    provider: mikroOrmProvider({ ...BOUND, orm }),
    out,
    write: (em, row) => (em as SqlEntityManager).execute(table.insert(row)),
    linger: (em) => (em as SqlEntityManager).execute(LINGER),
    dispose: () => orm.close(true),
  };
}
