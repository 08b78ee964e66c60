import { Database } from '../../../src/database/pool/database.service';
import { AuditService } from '../../../src/audit/audit.service';
import { type Counter, StatsService } from '../../../src/modules/stats/stats.service';
import { FakeClock } from '../../doubles/fake-clock';
import { createTenant, type Queryable, type Tenant } from '../../factories/tenants';
import { type Core, startCore } from '../../setup/core-context';
import { type OpenTestDatabase, openTestDatabase } from '../../setup/open-test-database';

export type Counted = Partial<Record<Counter, number>>;

/** The mail of a domain, with its outcomes. @param fields.mode default: live */
export function recordCounts(
  core: Core,
  { organizationId, domainId }: Pick<Tenant, 'organizationId' | 'domainId'>,
  counts: Counted,
  { occurredAt, mode = 'live' }: { occurredAt: Date; mode?: 'live' | 'test' | undefined },
): Promise<void> {
  const deltas = Object.entries(counts).map(([counter, by]) => {
    return { organizationId, domainId, mode, occurredAt, counter: counter as Counter, by };
  });
  return core.get(Database).transaction((tx) => Promise.resolve(core.get(StatsService).record(deltas, tx)));
}

export async function readDomain(db: Queryable, domainId: string): Promise<Record<string, unknown>> {
  const [row] = await db.query('select * from domains where id = $1', [domainId]);
  return row as Record<string, unknown>;
}

/** What has been written down about an organization, oldest first. */
export async function readHistory(core: Core, { organizationId }: Pick<Tenant, 'organizationId'>) {
  const reader = { organizationId, mode: 'live' } as const;
  const { entries } = await core.get(AuditService).list(reader, {}, { limit: 10 });
  return entries.reverse().map(({ actor, action, targetId, data }) => ({ actor, action, targetId, data }));
}

/** A process under a fake clock, and a new tenant for each test. */
export class LimitsScene {
  readonly clock: FakeClock;
  db!: OpenTestDatabase;
  core!: Core;
  tenant!: Tenant;

  constructor(start: string) {
    this.clock = new FakeClock(start);
  }
}

/** Prepares a scene for the tests of a `describe`. */
export function limitsScene(start: string, env: Record<string, string>): LimitsScene {
  const scene = new LimitsScene(start);
  beforeAll(async () => {
    scene.db = await openTestDatabase({ poolSize: 4 });
    scene.core = await startCore(scene.db.url, { clock: scene.clock, env });
  });
  beforeEach(async () => {
    scene.clock.set(start);
    scene.tenant = await createTenant(scene.db);
  });
  afterAll(async () => {
    await scene.core.close();
    await scene.db.drop();
  });
  return scene;
}
