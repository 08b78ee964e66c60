import { DAY, HOUR, MINUTE } from '../../../src/common/clock';
import { Metrics } from '../../../src/common/metrics/metrics';
import { poolOf } from '../../../src/database/pool/data-source';
import { DomainsService } from '../../../src/modules/domains/domains.service';
import type { Domain } from '../../../src/modules/domains/registry/domain.entity';
import { DomainRecheckJob } from '../../../src/modules/domains/domains.job';
import { countDueDomains, listDueOwners, takeDueDomains } from '../../../src/modules/domains/registry/sql/domains.sql';
import { DomainsRepository } from '../../../src/modules/domains/registry/domains.repository';
import { DomainVerificationService } from '../../../src/modules/domains/verification/domain-verification.service';
import { addDomain } from '../../factories/tenants';
import { explainBoth } from '../../setup/explain';
import type { Core } from '../../setup/core-context';
import { waitFor } from '../../setup/wait-for';
import { VerificationScene } from './verification-scene';

let scene: VerificationScene;
let worker: Core;
beforeAll(async () => {
  scene = await VerificationScene.open();
  worker = await scene.worker();
});
afterAll(() => scene.close());
beforeEach(async () => {
  await scene.db.query('delete from domains');
  scene.dns.queries.length = 0;
});

let count = 0;
const nextName = () => `d${(count += 1)}.example`;
const recheck = (by = worker) => by.get(DomainRecheckJob).run();
const looksAt = ({ domain }: Domain) => scene.dns.queries.filter((query) => query === `TXT _waybill.${domain}`).length;

/** Holds up the look at one domain, whatever its DNS does, until the returned function is called. */
function holdUp(domain: Domain): () => void {
  const service = worker.get(DomainVerificationService);
  const original = service.recheck.bind(service);
  let release = (): void => undefined;
  const isReleased = new Promise<void>((resolve) => (release = resolve));
  const looks = jest.spyOn(service, 'recheck').mockImplementation(async (organizationId, id) => {
    if (id === domain.id) await isReleased;
    return original(organizationId, id);
  });
  return () => {
    release();
    looks.mockRestore();
  };
}

/** Longer than the hour or the five minutes that the next look is away, jitter included. */
const HOURLY_MS = 67 * MINUTE;
const EAGERLY_MS = 6 * MINUTE;

describe('the re-check', () => {
  it('verifies a pending domain automatically', async () => {
    const domain = await scene.add(nextName());
    await recheck();
    expect(await scene.read(domain)).toMatchObject({ verificationStatus: 'pending', lastCheckedAt: scene.clock.now() });
    await scene.publish(domain);
    await recheck();
    expect(looksAt(domain)).toBe(1);
    scene.clock.advance(EAGERLY_MS);
    await recheck();
    expect(await scene.read(domain)).toMatchObject({ verificationStatus: 'verified', dkimStatus: 'verified' });
    expect(await scene.transitions(domain)).toContain('system domain.verified');
    scene.clock.advance(DAY * 0.89);
    await recheck();
    expect(looksAt(domain)).toBe(2);
    scene.clock.advance(DAY * 0.22);
    await recheck();
    expect(looksAt(domain)).toBe(3);
  });

  it('fails ownership and key after 72 hours of hourly looks that find nothing, and recovers them', async () => {
    const domain = await scene.add(nextName());
    await scene.publish(domain);
    await recheck();
    for (const { host } of await scene.records(domain)) scene.answer(host);
    scene.clock.advance(1.1 * DAY);
    await recheck();
    const goneSince = (await scene.read(domain)).verificationFailingSince;
    expect(goneSince).toEqual(scene.clock.now());
    let looks = 0;
    for (;;) {
      scene.clock.advance(HOURLY_MS);
      if (scene.clock.now().getTime() - goneSince!.getTime() >= 72 * HOUR) break;
      await recheck();
      looks += 1;
      expect(await scene.read(domain)).toMatchObject({ verificationStatus: 'verified', dkimStatus: 'verified' });
    }
    expect(looks).toBeGreaterThan(60);
    await recheck();
    expect(await scene.read(domain)).toMatchObject({ verificationStatus: 'failed', dkimStatus: 'failed', returnPathVerified: false }); // prettier-ignore
    expect((await scene.transitions(domain)).slice(4)).toEqual(
      ['domain.failed', 'dkim.failed', 'return_path.failed', 'tracking.failed'].map((action) => `system ${action}`),
    );
    await scene.publish(domain);
    scene.clock.advance(1.1 * DAY);
    await recheck();
    expect(await scene.read(domain)).toMatchObject({ verificationStatus: 'verified', dkimStatus: 'verified', returnPathVerified: true }); // prettier-ignore
  });

  it('changes no status in a week in which the DNS does not respond, and checks every hour', async () => {
    const domain = await scene.add(nextName());
    await scene.publish(domain);
    await recheck();
    for (const { host } of await scene.records(domain)) scene.answer(host, 'servfail');
    scene.clock.advance(1.1 * DAY);
    for (let hour = 0; hour < 7 * 24; hour += 1) {
      await recheck();
      scene.clock.advance(HOURLY_MS);
    }
    expect(looksAt(domain)).toBe(1 + 7 * 24);
    expect(await scene.read(domain)).toMatchObject({ verificationStatus: 'verified', dkimStatus: 'verified', returnPathVerified: true }); // prettier-ignore
    expect(await scene.transitions(domain)).toHaveLength(4);
  });

  it('does not change a domain that the operator has verified', async () => {
    const domain = await scene.add(nextName());
    await scene.core.get(DomainsService).markVerified(domain.organizationId, domain.domain);
    for (let day = 0; day < 10; day += 1) {
      await recheck();
      scene.clock.advance(1.1 * DAY);
    }
    expect(looksAt(domain)).toBe(10);
    expect(await scene.read(domain)).toMatchObject({ verificationStatus: 'verified', dkimStatus: 'verified' });
  });

  it('by two workers at once looks at every domain once', async () => {
    const other = await scene.worker();
    const domains = await scene.addMany(Array.from({ length: 40 }, nextName));
    await Promise.all([recheck(), recheck(other), recheck(), recheck(other)]);
    expect(domains.map(looksAt)).toEqual(domains.map(() => 1));
    expect((await Promise.all(domains.map((domain) => scene.read(domain)))).every(({ lastCheckedAt }) => lastCheckedAt !== null)).toBe(true); // prettier-ignore
  });

  it('comes to what a worker took and never finished once its lease is over', async () => {
    const domain = await scene.add(nextName());
    const now = scene.clock.now();
    const until = new Date(now.getTime() + 5 * MINUTE);
    const taken = await worker
      .get(DomainsRepository)
      .takeDue({ now, until, limit: 10, limitEach: 10 }, [domain.organizationId]);
    expect(taken).toEqual([{ organizationId: domain.organizationId, id: domain.id }]);
    scene.clock.advance(5 * MINUTE - 1);
    await recheck();
    expect(looksAt(domain)).toBe(0);
    scene.clock.advance(1);
    await recheck();
    expect(looksAt(domain)).toBe(1);
  });

  it('is not held up by domains whose DNS is silent', async () => {
    const silent = await scene.add(nextName());
    for (const { host } of await scene.records(silent)) scene.answer(host, 'silent');
    scene.clock.advance(MINUTE);
    const others = await scene.addMany(Array.from({ length: 25 }, nextName));
    const release = holdUp(silent);
    let isOver = false;
    const run = recheck().finally(() => (isOver = true));
    await waitFor(async () => (await Promise.all(others.map((domain) => scene.read(domain)))).every(({ lastCheckedAt }) => lastCheckedAt), { what: 'the others' }); // prettier-ignore
    expect([isOver, (await scene.read(silent)).lastCheckedAt]).toEqual([false, null]);
    release();
    await run;
    expect(looksAt(silent)).toBeGreaterThan(0);
    expect((await scene.read(silent)).lastCheckedAt).not.toBeNull();
  });

  it('takes turns among organizations: one with many domains that are overdue delays no other', async () => {
    const owners = [await scene.organization(), await scene.organization(), await scene.organization()];
    const [before, noisy, after] = owners.sort() as [string, string, string];
    await scene.db.query(
      `insert into domains (organization_id, id, domain, verification_token, next_check_at)
       select $1, gen_random_uuid(), n || '.noisy.example', 'token', $2::timestamptz - interval '1 hour'
       from generate_series(1, 200) n`,
      [noisy, scene.clock.now()],
    );
    for (const owner of [before, after]) {
      await addDomain(scene.db, owner, { status: 'pending' });
      await scene.db.query('update domains set next_check_at = $2 where organization_id = $1', [owner, scene.clock.now()]); // prettier-ignore
    }
    const looks = jest.spyOn(worker.get(DomainVerificationService), 'recheck').mockResolvedValue(undefined as never);
    await recheck();
    const turns = looks.mock.calls.map(([organizationId]) => organizationId);
    looks.mockRestore();
    expect(turns).toHaveLength(202);
    for (const owner of [before, after]) expect(turns.indexOf(owner)).toBeLessThan(10);
  });

  it('goes on when one domain cannot be checked', async () => {
    const organizationId = await scene.organization();
    const [bad, good] = [await scene.add(nextName(), organizationId), await scene.add(nextName(), organizationId)];
    await scene.db.query(`alter table domain_checks add constraint refused check (domain_id <> '${bad.id}')`);
    try {
      await recheck();
      expect((await scene.read(good)).lastCheckedAt).not.toBeNull();
      expect((await scene.read(bad)).lastCheckedAt).toBeNull();
    } finally {
      await scene.db.query('alter table domain_checks drop constraint refused');
    }
    scene.clock.advance(5 * MINUTE);
    await recheck();
    expect((await scene.read(bad)).lastCheckedAt).not.toBeNull();
  });

  it('finds what is due through the index on its time, however many domains wait for later', async () => {
    const organizationId = await scene.organization();
    // A bitmap counts the dead entries of earlier tests.
    await scene.db.query('vacuum domains');
    await scene.db.query(
      `insert into domains (organization_id, id, domain, verification_token, next_check_at)
       select $1, gen_random_uuid(), n || '.example', 'token', $2::timestamptz + n * interval '1 minute'
       from generate_series(1, 2000) n`,
      [organizationId, scene.clock.now()],
    );
    const client = await poolOf(scene.db.dataSource).connect();
    try {
      const now = new Date(scene.clock.now().getTime() + 5 * MINUTE);
      for (const statement of [
        takeDueDomains({ now, until: now, limit: 3, limitEach: 3 }, [organizationId]),
        listDueOwners(now),
        countDueDomains(now),
      ]) {
        const nodes = await explainBoth(client, statement);
        expect(nodes.map((node) => node['Index Name']).join()).toContain('domains_next_check');
        expect(nodes.map((node) => node['Node Type'])).not.toContain('Seq Scan');
        const touched = nodes.map((node) => (node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0));
        expect(Math.max(...touched)).toBeLessThan(50);
      }
    } finally {
      client.release();
    }
  });

  it('is counted: what is due, and what was found', async () => {
    await scene.add(nextName());
    await scene.add(nextName());
    const metrics = worker.get(Metrics).registry;
    await worker.start();
    await waitFor(async () => (await metrics.getSingleMetricAsString('waybill_domains_due')).endsWith('waybill_domains_due 0'), { what: 'the job to look at both' }); // prettier-ignore
    expect(await metrics.getSingleMetricAsString('waybill_domain_checks_total')).toMatch(
      /waybill_domain_checks_total\{purpose="verification",result="missing"\} [1-9]/,
    );
    const hasRun = async () =>
      /job_name="recheck-domains",result="ok"} [1-9]/.test(
        await metrics.getSingleMetricAsString('waybill_job_runs_total'),
      );
    await waitFor(hasRun, { what: 'the end of the run' });
  });
});
