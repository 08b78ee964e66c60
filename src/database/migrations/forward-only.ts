import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A migration that is one SQL text. There is no way back: the next migration mends what this one got wrong. */
export abstract class ForwardOnlyMigration implements MigrationInterface {
  protected abstract readonly sql: string;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(this.sql);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations are forward only: write a new one'));
  }
}
