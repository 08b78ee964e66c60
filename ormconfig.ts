import 'reflect-metadata';
import { join } from 'node:path';
import { createDataSource } from './src/database/data-source';

/** For the TypeORM command line: `DATABASE_URL=… npm run typeorm -- migration:show`. */
export default createDataSource(process.env.DATABASE_URL ?? 'postgres://localhost:5432/waybill', {
  entities: [join(__dirname, 'src/**/*.entity.ts')],
});
