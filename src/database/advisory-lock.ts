import { Client } from 'pg';

/**
 * Runs `work` while no other process does that takes the same lock. The lock lives on a connection of its own: it ends
 * with the process, however that ends, and costs the pool nothing. Waits for as long as it takes.
 *
 * @param lock any fixed number that nothing else uses.
 */
export async function withAdvisoryLock<T>(url: string, lock: number, work: () => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url, application_name: 'waybill-lock' });
  // A connection that breaks while `work` runs must not end the process.
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query('select pg_advisory_lock($1)', [lock]);
    return await work();
  } finally {
    await client.end();
  }
}
