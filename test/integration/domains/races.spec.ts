import { createHash } from 'node:crypto';
import { DomainDirectory } from '../../../src/auth/keys/domain-directory';
import { HOUR } from '../../../src/common/clock';
import { DomainTransitionsService } from '../../../src/modules/domains/registry/domain-transitions.service';
import { RestrictionsService } from '../../../src/modules/domains/restrictions/restrictions.service';
import { WarmUpChangesService } from '../../../src/modules/domains/restrictions/warm-up.service';
import { DnsCheckService } from '../../../src/modules/domains/verification/dns-check.service';
import { addDomain } from '../../factories/tenants';
import { DomainsApp, type Owner } from './domains-app';

let app: DomainsApp;
let acme: Owner;
let domainId: string;
let name: string;
beforeAll(async () => {
  app = await DomainsApp.start();
});
afterAll(() => app.close());
beforeEach(async () => {
  acme = await app.owner();
  const organizationId = acme.organizationId;
  name = `${organizationId}.example`;
  await addDomain(app.db, organizationId, { domain: `first.${name}`, isDefault: true });
  domainId = await addDomain(app.db, organizationId, { domain: name });
  // It gets its id back when it is added again.
  await app.db.query('update domains set verified_at = now() where id = $1', [domainId]);
});
afterEach(() => jest.restoreAllMocks());

const remove = async () => expect((await acme.api.delete(`/v1/domains/${domainId}`)).status).toBe(200);
const addAgain = async () => expect((await acme.api.post('/v1/domains', { domain: name })).body.data.id).toBe(domainId);

describe('a domain that is removed meanwhile', () => {
  it('leaves no key behind that is being bound to it', async () => {
    const directory = app.get(DomainDirectory);
    const holds = directory.holds.bind(directory);
    let removing: Promise<void> | undefined;
    jest.spyOn(directory, 'holds').mockImplementation(async (...given) => {
      const isHeld = await holds(...given);
      removing = remove();
      return isHeld;
    });
    const wanted = { name: 'Bound', mode: 'live', scopes: ['domain:manage', 'email:send'], domainId };
    const { status, body } = await acme.api.post('/v1/api-keys', wanted);
    await removing;
    await addAgain();
    expect([status, (await acme.api.as(body.data.key).get(`/v1/domains/${domainId}`)).status]).toEqual([201, 401]);
    jest.restoreAllMocks();
    await remove();
    expect((await acme.api.post('/v1/api-keys', wanted)).status).toBe(400);
  });

  it('is not verified by the check of the one before, when it is added again', async () => {
    app.dns.set({ [`_waybill.${name}`]: { TXT: ['waybill-verification=token'] } });
    const checks = app.get(DnsCheckService);
    const check = checks.check.bind(checks);
    jest.spyOn(checks, 'check').mockImplementationOnce(async (...given) => {
      const found = await check(...given);
      await remove();
      await addAgain();
      return found;
    });
    expect((await acme.api.post(`/v1/domains/${domainId}/verify`)).status).toBe(404);
    expect((await acme.api.get(`/v1/domains/${domainId}`)).body.data.verification_status).toBe('pending');
  });
});

describe('a decision of the operator holds, whatever the jobs do meanwhile', () => {
  /** What a job changes between the look at the domain and the change. */
  function meanwhile(work: (domain: any) => Promise<unknown>): void {
    const transitions = app.get(DomainTransitionsService);
    const find = transitions.find.bind(transitions);
    jest.spyOn(transitions, 'find').mockImplementationOnce(async (id) => {
      const domain = await find(id);
      await work(domain);
      return domain;
    });
  }

  it('on sending', async () => {
    const restrictions = app.get(RestrictionsService);
    meanwhile((domain) => restrictions.slow(domain, 'bounces', { accepted: 1_000, bounced: 100, complaints: 0 }));
    const { sending } = await restrictions.pauseByOperator(domainId, 'abuse');
    expect(sending).toMatchObject({ status: 'paused', reason: 'operator', note: 'abuse' });
    await restrictions.resumeByOperator(domainId);
    await restrictions.slow((await acme.api.get(`/v1/domains/${domainId}`)) && (await read()), 'bounces', {
      ...{ accepted: 1_000, bounced: 100, complaints: 0 },
    });
    meanwhile((domain) => restrictions.pause(domain, 'bounces', { accepted: 1_000, bounced: 100, complaints: 0 }));
    expect((await restrictions.resumeByOperator(domainId)).sending.status).toBe('active');
  });

  const read = () => app.get(DomainTransitionsService).find(domainId);

  it('on a warm-up', async () => {
    await app.db.query(`update domains set warming_status = 'warming', warming_started_at = now() where id = $1`, [
      domainId,
    ]);
    const changes = app.get(WarmUpChangesService);
    meanwhile((domain) => changes.pause(domain, 'bounces', 'system', {}));
    expect((await changes.byOperator(domainId, 'finish')).warmingStatus).toBe('warmed');
    expect((await changes.byOperator(domainId, 'resume')).warmingStatus).toBe('warmed');
  });
});

it.each(['ab_', 'op_'])(
  'a console session is its organization’s, also when its random id begins with %s',
  async (begin) => {
    const token = begin + 'A'.repeat(40);
    const now = app.clock.now();
    await app.db.query(
      'insert into console_sessions (hash, organization_id, key_id, created_at, expires_at) values ($1, $2, $3, $4, $5)',
      [
        createHash('sha256').update(token).digest(),
        ...[acme.organizationId, acme.keyId, now, new Date(now.getTime() + HOUR)],
      ],
    );
    const { status } = await fetch(`http://127.0.0.1:${app.port}/v1/domains`, {
      headers: { cookie: `waybill=${token}` },
    });
    expect(status).toBe(200);
  },
);
