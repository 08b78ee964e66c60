import { HOUR, MINUTE } from '../../../src/common/clock';
import { newId } from '../../../src/common/ids';
import { DomainsService } from '../../../src/modules/domains/domains.service';
import type { Domain } from '../../../src/modules/domains/registry/domain.entity';
import {
  type DomainVerification,
  DomainVerificationService,
} from '../../../src/modules/domains/verification/domain-verification.service';
import { DkimKeysService } from '../../../src/modules/domains/dkim/dkim-keys.service';
import { waitFor } from '../../setup/wait-for';
import { VerificationScene } from './verification-scene';

let scene: VerificationScene;
beforeAll(async () => {
  scene = await VerificationScene.open();
});
afterAll(() => scene.close());

let count = 0;
const nextName = () => `d${(count += 1)}.example`;

const verify = ({ organizationId, id }: Domain, actor = 'operator') =>
  scene.core.get(DomainVerificationService).verifyNow(organizationId, id, actor);
const resultsOf = ({ checks }: DomainVerification) =>
  Object.fromEntries(checks.map(({ record, check }) => [record.purpose, check.result]));

describe('verifying a domain', () => {
  it('stores the DNS result of every record, the decision, and the actor', async () => {
    const domain = await scene.add(nextName());
    await scene.publish(domain);
    scene.answer(`_dmarc.${domain.domain}`);
    scene.answer(`click.${domain.domain}`, 'servfail');
    const keyId = newId();
    const verification = await verify(domain, keyId);
    expect(resultsOf(verification)).toEqual({
      verification: 'verified',
      dkim: 'verified',
      spf: 'verified',
      dmarc: 'missing',
      return_path: 'verified',
      tracking: 'unreachable',
    });
    const now = scene.clock.now();
    expect(verification.domain).toMatchObject({
      verificationStatus: 'verified',
      verifiedAt: now,
      dkimStatus: 'verified',
      returnPathVerified: true,
      trackingVerified: false,
      lastCheckedAt: now,
    });
    expect(await scene.read(domain)).toEqual(verification.domain);
    expect(await scene.transitions(domain)).toEqual([
      `${keyId} domain.verified`,
      `${keyId} dkim.verified`,
      `${keyId} return_path.verified`,
    ]);
    const rows = await scene.db.query(
      'select purpose, host, result, verified, problem, checked_at from domain_checks where domain_id = $1 order by host',
      [domain.id],
    );
    expect(rows).toHaveLength(6);
    expect(rows[0]).toEqual({
      purpose: 'dmarc',
      host: `_dmarc.${domain.domain}`,
      result: 'missing',
      verified: false,
      problem: `There is no DMARC record at _dmarc.${domain.domain}`,
      checked_at: now,
    });
  });

  it('reads live DNS every time, and changes nothing while that cannot be reached', async () => {
    const domain = await scene.add(nextName());
    expect((await verify(domain)).domain.verificationStatus).toBe('pending');
    await scene.publish(domain);
    expect((await verify(domain)).domain.verificationStatus).toBe('verified');
    for (const { host } of await scene.records(domain)) scene.answer(host, 'servfail');
    const silent = await verify(domain);
    expect(silent.domain).toMatchObject({ verificationStatus: 'verified', dkimStatus: 'verified', returnPathVerified: true }); // prettier-ignore
    expect(silent.checks.map(({ check, verified }) => [check.result, verified])).toEqual(
      silent.checks.map(() => ['unreachable', true]),
    );
    expect(await scene.transitions(domain)).toHaveLength(4);
  });

  it('shows at once that a record has gone, and is patient with the status', async () => {
    const domain = await scene.add(nextName());
    await scene.publish(domain);
    await verify(domain);
    scene.answer(`_waybill.${domain.domain}`);
    const { checks, domain: after } = await verify(domain);
    expect(checks[0]).toMatchObject({ verified: false, check: { result: 'missing' } });
    expect(after).toMatchObject({ verificationStatus: 'verified', verificationFailingSince: scene.clock.now() });
  });

  it('activates a new key as soon as its record is seen; until then the old one signs', async () => {
    const domain = await scene.add(nextName());
    await scene.publish(domain);
    await verify(domain);
    await scene.core.get(DkimKeysService).rotate(domain.organizationId, domain.id, 'operator');
    await verify(domain);
    expect(await scene.keyStates(domain)).toEqual({ wb1: 'active', wb2: 'pending' });
    await scene.publish(domain);
    const { checks } = await verify(domain);
    expect(checks.filter(({ record }) => record.purpose === 'dkim')).toHaveLength(2);
    expect(await scene.keyStates(domain)).toEqual({ wb1: 'retiring', wb2: 'active' });
    expect((await scene.transitions(domain)).at(-1)).toBe('operator dkim.activated');
  });

  it('says that a rotation has failed after 72 hours without the record, and keeps the old key signing', async () => {
    const domain = await scene.add(nextName());
    await scene.publish(domain);
    await verify(domain);
    await scene.core.get(DkimKeysService).rotate(domain.organizationId, domain.id, 'operator');
    scene.clock.advance(72 * HOUR);
    expect((await verify(domain)).domain.dkimStatus).toBe('failed');
    expect(await scene.keyStates(domain)).toEqual({ wb1: 'active', wb2: 'pending' });
    await scene.publish(domain);
    expect((await verify(domain)).domain.dkimStatus).toBe('verified');
    expect((await scene.transitions(domain)).slice(-3)).toEqual([
      'operator dkim.failed',
      'operator dkim.activated',
      'operator dkim.verified',
    ]);
  });

  it('is safe at the same time: one transition, one row per record', async () => {
    const domain = await scene.add(nextName());
    await scene.publish(domain);
    const answers = await Promise.all(Array.from({ length: 30 }, () => verify(domain)));
    expect(new Set(answers.map((answer) => answer.domain.verificationStatus))).toEqual(new Set(['verified']));
    expect(await scene.transitions(domain)).toHaveLength(4);
    const [rows] = await scene.db.query('select count(*)::int from domain_checks where domain_id = $1', [domain.id]);
    expect(rows).toEqual({ count: 6 });
  });

  it('lets one organization have a name, however many prove it at once', async () => {
    for (let round = 0; round < 5; round += 1) {
      const name = nextName();
      const domains = await Promise.all([0, 1, 2, 3].map(() => scene.add(name)));
      await scene.publish(...domains);
      const answers = await Promise.all(domains.map((domain) => verify(domain)));
      const statuses = answers.map(({ domain }) => domain.verificationStatus);
      expect(statuses.toSorted()).toEqual(['pending', 'pending', 'pending', 'verified']);
      for (const { domain, checks } of answers.filter((answer) => answer.domain.verificationStatus === 'pending')) {
        expect(checks[0]?.verified).toBe(false);
        const [row] = await scene.db.query(
          `select result, problem from domain_checks where domain_id = $1 and purpose = 'verification'`,
          [domain.id],
        );
        expect(row).toEqual({ result: 'wrong', problem: `${name} has been verified by another organization of this service` }); // prettier-ignore
      }
    }
  });

  it('gives the second organization the reason', async () => {
    const name = nextName();
    const [first, second] = [await scene.add(name), await scene.add(name)];
    await scene.publish(first, second);
    await verify(first);
    const { checks } = await verify(second);
    expect(checks[0]?.check).toEqual({ result: 'wrong', problem: `${name} has been verified by another organization of this service` }); // prettier-ignore
  });

  it('holds no transaction while it waits for the DNS, and copes with a domain that is removed meanwhile', async () => {
    const domain = await scene.add(nextName());
    const host = `_waybill.${domain.domain}`;
    scene.answer(host, 'silent');
    const verification = verify(domain);
    const settled = expect(verification).rejects.toMatchObject({ code: 'resource_not_found' });
    await waitFor(() => scene.dns.queries.includes(`TXT ${host}`), { what: 'the look-up' });
    const open = await scene.db.query(
      `select from pg_stat_activity where datname = current_database() and xact_start is not null and pid <> pg_backend_pid()`,
    );
    expect(open).toEqual([]);
    await scene.db.query('delete from domains where id = $1', [domain.id]);
    await settled;
  });

  it('returns 404 for a domain of another organization, and for an invalid id', async () => {
    const domain = await scene.add(nextName());
    const service = scene.core.get(DomainVerificationService);
    const notFound = { code: 'resource_not_found' };
    await expect(service.verifyNow(newId(), domain.id, 'operator')).rejects.toMatchObject(notFound);
    await expect(service.verifyNow(domain.organizationId, newId(), 'operator')).rejects.toMatchObject(notFound);
    await expect(service.verifyNow(domain.organizationId, 'd1', 'operator')).rejects.toMatchObject(notFound);
  });

  it('deletes the rows of records that are no longer required', async () => {
    const domain = await scene.add(nextName());
    await scene.db.query(
      `insert into domain_checks (organization_id, domain_id, purpose, host, result, verified, checked_at)
       values ($1, $2, 'dkim', 'wb0._domainkey.old.example', 'verified', true, now())`,
      [domain.organizationId, domain.id],
    );
    await verify(domain);
    const rows = await scene.db.query<{ host: string }>('select host from domain_checks where domain_id = $1', [
      domain.id,
    ]);
    expect(rows.map(({ host }) => host)).not.toContain('wb0._domainkey.old.example');
    expect(rows).toHaveLength(6);
  });

  it('sets when the next look is due', async () => {
    const domain = await scene.add(nextName());
    const { nextCheckAt } = (await verify(domain)).domain;
    const inMs = nextCheckAt.getTime() - scene.clock.now().getTime();
    expect(inMs).toBeGreaterThanOrEqual(4.5 * MINUTE);
    expect(inMs).toBeLessThanOrEqual(5.5 * MINUTE);
  });

  it('never fails a domain that the operator vouches for', async () => {
    const domain = await scene.add(nextName());
    await scene.core.get(DomainsService).markVerified(domain.organizationId, domain.domain);
    for (const hours of [0, 100, 100]) {
      scene.clock.advance(hours * HOUR);
      expect((await verify(domain)).domain).toMatchObject({ verificationStatus: 'verified', dkimStatus: 'verified' });
    }
  });
});

describe('with a delegated zone', () => {
  it('a rotation needs no action of the customer: the new key is used once the zone returns it', async () => {
    const delegated = await VerificationScene.open({ DKIM_ZONE: 'dkim.waybill.test' });
    try {
      const domain = await delegated.add('delegated.example');
      const look = () =>
        delegated.core.get(DomainVerificationService).verifyNow(domain.organizationId, domain.id, 'operator');
      const publishKeys = async () => {
        const keys = await delegated.db.query<{ selector: string; public_key: string }>(
          'select selector, public_key from dkim_keys where domain_id = $1',
          [domain.id],
        );
        for (const { selector, public_key: key } of keys) {
          delegated.answer(`${selector}.${domain.id}.dkim.waybill.test`, { TXT: [`v=DKIM1; k=rsa; p=${key}`] }); // prettier-ignore
        }
      };
      await delegated.publish(domain);
      expect((await look()).domain.dkimStatus).toBe('pending');
      await publishKeys();
      expect((await look()).domain.dkimStatus).toBe('verified');
      await delegated.core.get(DkimKeysService).rotate(domain.organizationId, domain.id, 'operator');
      await look();
      expect(await delegated.keyStates(domain)).toEqual({ wb1: 'active', wb2: 'pending' });
      await publishKeys();
      await look();
      expect(await delegated.keyStates(domain)).toEqual({ wb1: 'retiring', wb2: 'active' });
    } finally {
      await delegated.close();
    }
  });
});
