import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DnsServer } from '../doubles/dns-server';
import { SmtpSink } from '../doubles/smtp-sink';
import { createTestDatabase, type TestDatabase } from '../setup/test-database';
import { waitFor } from '../setup/wait-for';
import { ApiClient } from './kit/api-client';
import { ServiceProcess } from './kit/service-process';
import { type Tenant, TenantFactory } from './kit/tenant';
import { verifyDkim } from './kit/verify-dkim';

let database: TestDatabase;
let tenants: TenantFactory;
let acme: Tenant;
let dns: DnsServer;
let sink: SmtpSink;
let service: ServiceProcess;
let api: ApiClient;
let workFolder: string;

beforeAll(async () => {
  database = await createTestDatabase();
  tenants = await TenantFactory.open(database.url);
  acme = await tenants.create('acme.example');
  dns = await DnsServer.start();
  sink = await SmtpSink.start();
  workFolder = mkdtempSync(join(tmpdir(), 'waybill-domains-'));
  service = await ServiceProcess.start({
    DATABASE_URL: database.url,
    WAYBILL_DATA_DIR: workFolder,
    DELIVERY_MODE: 'relay',
    RELAY_URL: `smtp://127.0.0.1:${sink.port}`,
    DNS_SERVERS: dns.endpoint,
    RATE_LIMITS: '{"domain-writes":20}',
  });
  api = new ApiClient(service.port, acme.liveKey);
});

afterAll(async () => {
  await service.stop();
  await tenants.close();
  await Promise.all([dns.stop(), sink.stop()]);
  await database.drop();
  rmSync(workFolder, { recursive: true });
});

function publish({ records }: any): void {
  for (const { type, host, value } of records) {
    dns.set({ [host]: type === 'CNAME' ? { CNAME: value } : { TXT: [value.match(/.{1,255}/g)] } });
  }
}

const read = async (id: string) => (await api.get(`/v1/domains/${id}`)).body.data;

async function add(name: string): Promise<any> {
  const { status, body } = await api.post('/v1/domains', { domain: name });
  expect(status).toBe(201);
  return body.data;
}

async function sendFrom(from: string) {
  const before = sink.messages.length;
  await api.send({ from });
  await waitFor(() => sink.messages.length > before, { what: 'the mail' });
  return verifyDkim(sink.messages.at(-1)!.content, database.url);
}

it('takes a domain from its name to signed mail and a new key, as its owner sees it', async () => {
  const domain = await add('shop.example');
  const refused = await api.post('/v1/emails', {
    ...{ from: 'me@shop.example', to: ['you@example.com'], subject: 'Hi', text: 'Hi' },
  });
  expect([refused.status, refused.body.error.code]).toEqual([422, 'domain_not_verified']);

  publish(domain);
  const { body } = await api.post(`/v1/domains/${domain.id}/verify`);
  expect(body.data).toMatchObject({ success: true, status: 'verified', dkim_verified: true, errors: [] });
  expect(await sendFrom('me@shop.example')).toEqual([{ result: 'pass', domain: 'shop.example', selector: 'wb1' }]);

  const rotated = (await api.post(`/v1/domains/${domain.id}/rotate-dkim`)).body.data;
  expect(rotated.dkim_selector).toBe('wb2');
  expect(rotated.records.filter(({ purpose }: any) => purpose === 'dkim')).toHaveLength(2);
  publish(rotated);
  expect((await api.post(`/v1/domains/${domain.id}/verify`)).body.data.errors).toEqual([]);
  expect((await api.post(`/v1/domains/${domain.id}/rotate-dkim`)).body.error.code).toBe('dkim_rotation_in_progress');
});

it('is verified automatically, as soon as the records exist', async () => {
  const domain = await add('patient.example');
  publish(domain);
  await waitFor(async () => (await read(domain.id)).verification_status === 'verified', {
    what: 'the background look',
  });
});

it('changes the default and deletes', async () => {
  const domain = await add('other.example');
  expect((await api.delete(`/v1/domains/${acme.domainId}`)).body.error.code).toBe('default_domain_in_use');
  expect((await api.post(`/v1/domains/${domain.id}/set-default`)).body.error.code).toBe('domain_not_verified');
  publish(domain);
  expect((await api.post(`/v1/domains/${domain.id}/verify`)).body.data.status).toBe('verified');
  expect((await api.post(`/v1/domains/${domain.id}/set-default`)).body.data.is_default).toBe(true);
  expect((await read(acme.domainId)).is_default).toBe(false);
  const { status, body } = await api.delete(`/v1/domains/${acme.domainId}`);
  expect([status, body]).toEqual([200, { success: true }]);
});

it('limits what costs look-ups and keys, together', async () => {
  const { status, headers } = await api.get('/v1/domains');
  expect([status, headers.get('x-ratelimit-limit')]).toEqual([200, '1000']);
  const answers: number[] = [];
  const { id } = await add('limited.example');
  await waitFor(
    async () => {
      answers.push((await api.post(`/v1/domains/${id}/rotate-dkim`)).status);
      return answers.at(-1) === 429;
    },
    { what: 'a 429' },
  );
  expect((await api.post('/v1/domains', { domain: 'more.example' })).status).toBe(429);
  expect((await api.post(`/v1/domains/${id}/verify`)).status).toBe(429);
  expect((await api.delete(`/v1/domains/${id}`)).status).toBe(200);
});
