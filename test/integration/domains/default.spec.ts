import { ApiKeysService } from '../../../src/auth/keys/api-keys.service';
import { DomainsService } from '../../../src/modules/domains/domains.service';
import { SendEmailsService } from '../../../src/modules/emails/accept/send-emails.service';
import { ALL_SCOPES } from '../../../src/common/http/scopes';
import { SmtpSink } from '../../doubles/smtp-sink';
import { ApiClient } from '../../e2e/kit/api-client';
import { sendBody } from '../../factories/send-requests';
import { readStoredEmail } from '../../factories/stored-email';
import { waitFor } from '../../setup/wait-for';
import { startWorker } from '../../setup/worker-context';
import { DomainsApp, type Owner } from './domains-app';

let app: DomainsApp;
let acme: Owner;
beforeAll(async () => {
  app = await DomainsApp.start();
});
afterAll(() => app.close());
beforeEach(async () => {
  acme = await app.owner();
});

async function add(name: string, owner = acme): Promise<any> {
  return (await owner.api.post('/v1/domains', { domain: name })).body.data;
}

const addSeveral = (count: number, name = 'd') =>
  Promise.all(Array.from({ length: count }, (_, n) => add(`${name}${n}.example`)));

async function defaults(owner = acme): Promise<string[]> {
  const { body } = await owner.api.get('/v1/domains');
  return body.data.filter(({ is_default }: any) => is_default).map(({ id }: any) => id);
}

const setDefault = (id: string) => acme.api.post(`/v1/domains/${id}/set-default`);
const vouch = (...domains: any[]) =>
  Promise.all(domains.map(({ id }) => app.get(DomainsService).markVerified(acme.organizationId, id)));
const remove = (id: string, owner = acme) => owner.api.delete(`/v1/domains/${id}`);

describe('the default domain', () => {
  it('is the first one, until another is chosen', async () => {
    const [first, second] = [await add('first.example'), await add('chosen.example')];
    expect([first.is_default, second.is_default]).toEqual([true, false]);
    await vouch(second);
    const { status, body } = await setDefault(second.id);
    expect([status, body.data.is_default]).toEqual([200, true]);
    expect(await defaults()).toEqual([second.id]);
    expect((await setDefault(second.id)).status).toBe(200);
    expect(await defaults()).toEqual([second.id]);
  });

  it('is never one that is not verified', async () => {
    const [first, second] = [await add('first.example'), await add('unverified.example')];
    const { status, body } = await setDefault(second.id);
    expect([status, body.error.code]).toEqual([422, 'domain_not_verified']);
    expect(await defaults()).toEqual([first.id]);
  });

  it('is another one in each organization', async () => {
    const other = await app.owner('Other');
    const [mine, theirs] = [await add('first.example'), await add('theirs.example', other)];
    const second = await add('second-of-mine.example');
    await vouch(second);
    expect((await setDefault(second.id)).status).toBe(200);
    expect(await defaults(other)).toEqual([theirs.id]);
    expect((await setDefault(theirs.id)).status).toBe(404);
    expect(await defaults(other)).toEqual([theirs.id]);
    expect(mine.is_default).toBe(true);
  });

  it('is one of several first domains that are added at once', async () => {
    await addSeveral(8);
    expect(await defaults()).toHaveLength(1);
  });

  it('is one, whatever fifty callers choose at once', async () => {
    const domains = await addSeveral(10, 'vouched');
    await vouch(...domains);
    const answers = await Promise.all(Array.from({ length: 50 }, (_, n) => setDefault(domains[n % 10].id)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(await defaults()).toHaveLength(1);
  });

  it('is there as long as any domain is, whatever is added, chosen and deleted at once', async () => {
    for (let round = 0; round < 5; round += 1) {
      const owner = await app.owner(`Round ${round}`);
      const first = await add('first.example', owner);
      const answers = await Promise.all([
        remove(first.id, owner),
        ...Array.from({ length: 3 }, (_, n) => owner.api.post('/v1/domains', { domain: `d${n}.example` })),
      ]);
      expect(answers.filter(({ status }) => ![200, 201, 409].includes(status))).toEqual([]);
      expect(await defaults(owner)).toHaveLength(1);
    }
  });
});

describe('a send', () => {
  const send = (api = acme.api) =>
    api.post('/v1/emails', { from: 'noreply', to: ['a@rcpt.example'], subject: 'Hello', text: 'Hello' });
  const fromOf = async ({ body }: any) => (await acme.api.get(`/v1/emails/${body.data.id}`)).body.data.fromEmail;

  it('leaves from the new default domain as soon as it is chosen', async () => {
    const [first, second] = [await add('sends.example'), await add('sends-next.example')];
    await vouch(first, second);
    expect(await fromOf(await send())).toBe('noreply@sends.example');
    await setDefault(second.id);
    expect(await fromOf(await send())).toBe('noreply@sends-next.example');
  });

  it('is refused as soon as its domain is deleted, and so is a key that is bound to it', async () => {
    const domain = await add('deleted.example');
    await vouch(domain);
    const bound = await acme.client(['email:send'], domain.id);
    expect((await send()).status).toBe(202);
    expect((await send(bound)).status).toBe(202);
    expect((await remove(domain.id)).status).toBe(200);
    expect((await send()).body.error.code).toBe('domain_not_verified');
    expect((await send(bound)).body.error.code).toBe('revoked_api_key');
  });
});

describe('DELETE /v1/domains/{id}', () => {
  it('keeps the id of a domain that has been verified, however often it is added again', async () => {
    await add('first.example');
    const { id } = await add('kept.example');
    await vouch({ id });
    for (let round = 0; round < 3; round += 1) {
      await remove(id);
      expect((await add('kept.example')).id).toBe(id);
    }
  });

  it('returns success, outside of data, and leaves nothing of the domain', async () => {
    const { id, records } = await add('gone.example');
    app.publish({ records });
    await acme.api.post(`/v1/domains/${id}/verify`);
    const { status, body } = await remove(id);
    expect([status, body]).toEqual([200, { success: true }]);
    expect((await acme.api.get(`/v1/domains/${id}`)).status).toBe(404);
    expect((await remove(id)).status).toBe(404);
    for (const table of ['dkim_keys', 'domain_checks']) {
      expect(await app.db.query(`select 1 from ${table} where domain_id = $1`, [id])).toEqual([]);
    }
    expect((await add('gone.example')).is_default).toBe(true);
  });

  it('keeps the default while there are others', async () => {
    const [first, second] = [await add('first.example'), await add('second.example')];
    const refused = await remove(first.id);
    expect([refused.status, refused.body.error.code]).toEqual([409, 'default_domain_in_use']);
    expect(refused.body.error.suggestion).toBe('Make another domain the default first');
    expect((await remove(second.id)).status).toBe(200);
    expect((await remove(first.id)).status).toBe(200);
    expect((await acme.api.get('/v1/domains')).body).toEqual({ data: [], total: 0 });
  });

  it('revokes the keys that are bound to the domain, and no others', async () => {
    await add('first.example');
    const { id } = await add('second.example');
    await acme.client(['email:send'], id);
    await remove(id);
    const keys = await app.get(ApiKeysService).list(acme.organizationId);
    expect(keys.map(({ domainId, revokedAt }) => [domainId, revokedAt !== null])).toEqual([
      [id, true],
      [null, false],
    ]);
  });

  it('lets mail that is queued fail visibly, and the rest go on', async () => {
    const sink = await SmtpSink.start();
    const [kept, gone] = [await add('kept.example'), await add('gone.example')];
    for (const domain of [kept, gone]) {
      app.publish(domain);
      await acme.api.post(`/v1/domains/${domain.id}/verify`);
    }
    const submitter = { organizationId: acme.organizationId, mode: 'live' as const, domainId: undefined };
    const send = async (from: string) =>
      (await app.get(SendEmailsService).sendOne(sendBody({ from }), undefined, submitter)).accepted.id;
    const [good, orphan] = [await send('me@kept.example'), await send('me@gone.example')];
    expect((await remove(gone.id)).status).toBe(200);
    const worker = await startWorker(app.db.url, { hopPort: sink.port, clock: app.clock, isFinalHop: true });
    try {
      const settled = (id: string) =>
        waitFor(
          async () => {
            const stored = await readStoredEmail(app.db, id);
            return ['delivered', 'failed'].includes(stored.email.status) && stored;
          },
          { what: `email ${id} to be settled` },
        );
      expect((await settled(good)).email.status).toBe('delivered');
      const { email, events } = await settled(orphan);
      expect(email.status).toBe('failed');
      expect(events.at(-1)).toMatchObject({ event_type: 'failed', data: { reason: 'domain_removed' } });
      expect((await acme.api.get(`/v1/emails/${orphan}`)).body.data.status).toBe('failed');
    } finally {
      await worker.close();
      await sink.stop();
    }
  });
});

describe('a test key', () => {
  it('reads domains but changes none, because live mail is sent from them', async () => {
    const [first, second] = [await add('first.example'), await add('second.example')];
    const key = { name: 'Test', mode: 'test' as const, scopes: ALL_SCOPES };
    const test = new ApiClient(app.port, (await app.get(ApiKeysService).create(acme.organizationId, key)).key);
    const changes = await Promise.all([
      test.post('/v1/domains', { domain: 'third.example' }),
      test.delete(`/v1/domains/${first.id}`),
      ...['verify', 'rotate-dkim', 'set-default'].map((action) => test.post(`/v1/domains/${second.id}/${action}`)),
    ]);
    expect(changes.map(({ status, body }) => [status, body.error?.code])).toEqual(
      Array(5).fill([403, 'insufficient_permissions']),
    );
    expect((await test.get('/v1/domains')).body.total).toBe(2);
    expect((await test.get(`/v1/domains/${first.id}`)).body.data.is_default).toBe(true);
  });
});
