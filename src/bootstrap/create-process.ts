import type { DynamicModule } from '@nestjs/common';
import { ProcessModule, type ProcessOptions } from './process.module';

/**
 * Creates an application of a process. When that fails, its connections are closed: they would keep the embedded database from
 * stopping.
 */
export async function createProcess<T>(
  options: ProcessOptions,
  create: (module: DynamicModule) => Promise<T>,
): Promise<T> {
  const pools: Promise<{ destroy(): Promise<void> }>[] = [];
  try {
    return await create(ProcessModule.register(options, (pool) => pools.push(pool)));
  } catch (error) {
    // Modules are created side by side: a pool may still be opening.
    await Promise.allSettled(pools.map(async (pool) => (await pool).destroy()));
    throw error;
  }
}
