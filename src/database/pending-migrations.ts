import { MigrationExecutor } from 'typeorm';
import { createDataSource } from './data-source';

/** The names of the migrations that the database lacks, in their order. Changes nothing. */
export async function listPendingMigrations(url: string): Promise<string[]> {
  const dataSource = createDataSource(url, { poolSize: 1, applicationName: 'waybill-migrations' });
  await dataSource.initialize();
  try {
    return (await new MigrationExecutor(dataSource).getPendingMigrations()).map((migration) => migration.name);
  } finally {
    await dataSource.destroy();
  }
}
