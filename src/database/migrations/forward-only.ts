import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * How long a migration waits for a lock. Whatever comes to the table meanwhile waits behind it, so it gives up soon and
 * `migrate` tries again: a long report then delays the migration, not the mail.
 */
const LOCK_TIMEOUT = '2s';

/** A migration that is one SQL text in one transaction. There is no way back: the next migration mends what this one got wrong. */
export abstract class ForwardOnlyMigration implements MigrationInterface {
  protected abstract readonly sql: string;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`set local lock_timeout = '${LOCK_TIMEOUT}'`);
    await runner.query(this.sql);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations are forward only: write a new one'));
  }
}

/** An index of a table that may be large. */
export interface LargeIndex {
  readonly name: string;
  readonly table: string;
  readonly unique?: boolean;
  /** There is one of this name, which stays until this one is built. Not of a partitioned table. */
  readonly replaces?: boolean;
  /** What follows the table: `(organization_id, id) where …`. */
  readonly definition: string;
}

interface Piece {
  /** Both quoted. */
  readonly table: string;
  readonly index: string;
}

/**
 * A migration that builds indexes of large tables while they are written to; in a transaction, writes would wait for as long as
 * it takes. Not a transaction, so it may end half-way: the next attempt leaves what is there, and builds again what is invalid.
 * Of a partitioned table each partition gets its index by itself, and writes wait only for the catalogue.
 */
export abstract class BuildIndexesMigration implements MigrationInterface {
  readonly transaction = false;
  protected abstract readonly indexes: readonly LargeIndex[];

  async up(runner: QueryRunner): Promise<void> {
    for (const index of this.indexes) {
      if (runner.isTransactionActive) await buildAtOnce(runner, index);
      else if (index.replaces) await replace(runner, index);
      else if (await isPartitioned(runner, index.table)) await buildOnPartitions(runner, index);
      else await build(runner, index, { table: index.table, index: index.name });
    }
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations are forward only: write a new one'));
  }
}

/** For whoever makes a whole schema in one transaction: its tables are empty. */
async function buildAtOnce(runner: QueryRunner, index: LargeIndex): Promise<void> {
  const { name, table, definition, replaces = false } = index;
  if (replaces) await runner.query(`drop index ${name}`);
  await runner.query(`${create(index)} ${name} on ${table} ${definition}`);
}

async function isPartitioned(runner: QueryRunner, table: string): Promise<boolean> {
  const rows = (await runner.query(`select relkind = 'p' as yes from pg_class where oid = $1::regclass`, [table])) as {
    yes: boolean;
  }[];
  return rows[0]?.yes ?? false;
}

/** The parent's index is valid once the index of each partition is a part of it; new partitions have theirs by themselves. */
async function buildOnPartitions(runner: QueryRunner, index: LargeIndex): Promise<void> {
  const { name, table, definition } = index;
  await briefly(runner, `${create(index)} if not exists ${name} on only ${table} ${definition}`);
  const pieces = (await runner.query(
    `select inhrelid::regclass::text as "table", quote_ident(left($2, 48) || '_' || inhrelid::text) as index
     from pg_inherits i
     where inhparent = $1::regclass and not exists (
       select from pg_index x join pg_inherits part on part.inhrelid = x.indexrelid
       where x.indrelid = i.inhrelid and part.inhparent = $2::regclass
     )`,
    [table, name],
  )) as Piece[];
  for (const piece of pieces) {
    await build(runner, index, piece);
    await briefly(runner, `alter index ${name} attach partition ${piece.index}`);
  }
}

async function replace(runner: QueryRunner, index: LargeIndex): Promise<void> {
  const { name, table } = index;
  await build(runner, index, { table, index: `${name}_new` });
  await runner.query(`drop index concurrently if exists ${name}`);
  await briefly(runner, `alter index ${name}_new rename to ${name}`);
}

/** What takes a lock only for a moment; both statements are one transaction. */
async function briefly(runner: QueryRunner, statement: string): Promise<void> {
  await runner.query(`set local lock_timeout = '${LOCK_TIMEOUT}'; ${statement}`);
}

async function build(runner: QueryRunner, index: LargeIndex, piece: Piece): Promise<void> {
  const [found] = (await runner.query(
    `select indisvalid as "isValid" from pg_index where indexrelid = to_regclass($1)`,
    [piece.index],
  )) as { isValid: boolean }[];
  if (found?.isValid) return;
  if (found) await runner.query(`drop index concurrently ${piece.index}`);
  await runner.query(`${create(index)} concurrently ${piece.index} on ${piece.table} ${index.definition}`);
}

function create({ unique = false }: LargeIndex): string {
  return unique ? 'create unique index' : 'create index';
}
