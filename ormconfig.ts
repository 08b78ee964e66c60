import 'reflect-metadata';
import { join } from 'node:path';
import { DataSource } from 'typeorm';
import { dataSourceOptions } from './src/database/pool/data-source';

const url = process.env.DATABASE_URL ?? 'postgres://localhost:5432/waybill';

/** For TypeORM's command line: `DATABASE_URL=… npm run typeorm -- migration:show`. */
export default new DataSource({
  ...dataSourceOptions(url, { entities: [join(__dirname, 'src/**/*.entity.ts')] }),
  // The command line shows its results through the logger; the service's own writes nothing.
  logger: 'advanced-console',
});
