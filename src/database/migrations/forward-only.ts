import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * How long a migration waits for a lock. Whatever comes to the table meanwhile waits behind it, so it gives up soon and
 * `migrate` tries again: a long report then delays the migration, not the mail.
 */
export const LOCK_TIMEOUT = '2s';

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
