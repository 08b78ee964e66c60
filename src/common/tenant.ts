/** Live mail leaves the service; test mail meets the simulator. Data of the two never mix. */
export type Mode = 'live' | 'test';

export const MODES: readonly Mode[] = ['live', 'test'];

/** Whose data a call reads or changes. Every query filters by organization and mode. */
export interface Tenant {
  readonly organizationId: string;
  readonly mode: Mode;
  /** Set when the caller's API key is bound to one domain: it sees and changes only that domain's data. */
  readonly domainId?: string | undefined;
}

/** What belongs to one tenant. */
export interface TenantGroup<Row> {
  readonly tenant: Tenant;
  readonly rows: readonly Row[];
}

/**
 * Rows by organization and mode, in the order of the primary keys: where a batch takes one statement for each tenant, all
 * batches lock the tenants' rows in the same order.
 */
export function groupByTenant<Row extends Tenant>(rows: readonly Row[]): TenantGroup<Row>[] {
  const groups = new Map<string, { tenant: Tenant; rows: Row[] }>();
  for (const row of rows) {
    const { organizationId, mode } = row;
    const name = `${organizationId} ${mode}`;
    const group = groups.get(name);
    if (group) group.rows.push(row);
    else groups.set(name, { tenant: { organizationId, mode }, rows: [row] });
  }
  if (groups.size === 1) return [...groups.values()];
  return [...groups].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, group]) => group);
}
