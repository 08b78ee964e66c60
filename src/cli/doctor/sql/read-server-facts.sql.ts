// What the database server says of itself: for the doctor.
// Reads: no table. Locks: none. Rows: one.
// Not the ORM: settings and the server's clock.
import type { Statement } from '../../../database/statement';

export interface ServerFacts {
  /** As in `server_version_num`: 180004 for 18.4. */
  versionNumber: number;
  version: string;
  now: Date;
}

const TEXT = `
  select
    current_setting('server_version_num')::int as "versionNumber",
    current_setting('server_version') as version,
    clock_timestamp() as now`;

export function readServerFacts(): Statement<ServerFacts> {
  return { name: 'read-server-facts', text: TEXT, values: [] };
}
