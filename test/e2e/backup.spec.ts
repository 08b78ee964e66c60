import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { attachEmbeddedPostgres } from '../../src/database/embedded/embedded-postgres';
import { runWith } from '../integration/cli/cli-kit';
import { query } from '../integration/embedded/support';
import { ApiClient, eventTypes } from './kit/api-client';
import { ServiceProcess } from './kit/service-process';

let folder: string;
const services: ServiceProcess[] = [];
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'waybill-restored-'));
});
afterEach(() => Promise.all(services.map((service) => service.kill('SIGKILL'))));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('an embedded service and its backup', () => {
  it('continues elsewhere with its mail, keys, secrets and queue', async () => {
    const [first, second, file, passphrase] = ['first', 'second', 'all.backup', 'passphrase'].map((name) =>
      join(folder, name),
    ) as [...[string, string, string, string]];
    // Closed, as a folder of root's home is.
    for (const dataDir of [first, second]) mkdirSync(dataDir, { mode: 0o700 });
    writeFileSync(passphrase, 'a pass phrase that is long enough\n', { mode: 0o600 });
    const withKey = ['--with-master-key', '--passphrase-file', passphrase];

    const service = await ServiceProcess.start({ WAYBILL_DATA_DIR: first });
    services.push(service);
    const { liveKey, organizationId } = JSON.parse(readFileSync(join(first, 'credentials.json'), 'utf8'));
    const api = new ApiClient(service.port, liveKey);
    const sent = await api.send({
      from: 'hello@waybill.test',
      to: ['a@example.com'],
      html: '<p>Grüße</p>',
      idempotencyKey: 'once',
    });
    const before = await api.waitForStatus(sent, 'delivered');
    const scheduledAt = new Date(Date.now() + 3_600_000).toISOString();
    const waiting = await api.send({ from: 'hello@waybill.test', to: ['b@example.com'], scheduledAt });
    await api.post('/v1/suppressions', { email: 'gone@example.com', reason: 'manual' });
    const suppressions = (await api.get('/v1/suppressions')).body;
    const webhook = await api.post('/v1/webhooks', { url: 'https://hooks.example.com/x', events: ['*'] });
    expect(webhook.status).toBe(201);
    const taken = await runWith({ WAYBILL_DATA_DIR: first }, ['backup', file, ...withKey, '--json']);
    expect(taken).toMatchObject({ exitCode: 0, stderr: '' });
    const refused = await runWith({ WAYBILL_DATA_DIR: first }, ['restore', file, '--force']);
    expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('The service is running') });
    const later = await api.send({ from: 'hello@waybill.test', to: ['c@example.com'] });
    await service.stop();

    const restored = await runWith({ WAYBILL_DATA_DIR: second }, ['restore', file, ...withKey, '--json']);
    expect(restored).toMatchObject({ exitCode: 0, stderr: '' });
    expect(readFileSync(join(second, 'master.key'), 'utf8')).toBe(readFileSync(join(first, 'master.key'), 'utf8'));
    expect(existsSync(join(second, 'master.key.previous'))).toBe(false);

    const again = await ServiceProcess.start({ WAYBILL_DATA_DIR: second });
    services.push(again);
    const there = new ApiClient(again.port, liveKey);
    expect(await there.email(sent)).toEqual(before);
    expect((await there.get(`/v1/emails/${sent}/content`)).body.data).toMatchObject({ html: '<p>Grüße</p>' });
    expect((await there.get('/v1/suppressions')).body).toEqual(suppressions);
    expect((await there.get(`/v1/emails/${later}`)).status).toBe(404);
    // The same key repeats nothing.
    expect(
      await there.send({
        from: 'hello@waybill.test',
        to: ['a@example.com'],
        html: '<p>Grüße</p>',
        idempotencyKey: 'once',
      }),
    ).toBe(sent);
    // What was waiting still waits, and goes once it is due.
    expect((await there.email(waiting)).status).toBe('scheduled');
    const url = (await attachEmbeddedPostgres(second)) ?? '';
    await query(url, `update deliveries set due_at = clock_timestamp() where email_id = '${waiting}'`);
    await there.waitForStatus(waiting, 'delivered');
    const fresh = await there.send({ from: 'hello@waybill.test', to: ['d@example.com'] });
    expect(eventTypes(await there.waitForStatus(fresh, 'delivered'))).toEqual([
      'queued',
      'sending',
      'sent',
      'delivered',
    ]);
    const mailbox = (await there.get('/mailbox/messages.json')).body.data;
    expect(mailbox.map((message: { recipients: string[] }) => message.recipients[0])).toEqual([
      'd@example.com',
      'b@example.com',
      'a@example.com',
    ]);
    const verified = await runWith({ WAYBILL_DATA_DIR: second }, [
      'stats',
      'verify',
      '--org',
      organizationId,
      '--json',
    ]);
    expect(JSON.parse(verified.stdout)).toMatchObject({ drift: 0 });
    const doctor = await runWith({ WAYBILL_DATA_DIR: second }, ['doctor', '--json']);
    expect(doctor.exitCode).toBe(0);
    await again.stop();
    expect(again.exitCode).toBe(0);
    // Every secret opens: of the DKIM key, of the webhook.
    const reEncrypted = await runWith({ WAYBILL_DATA_DIR: second }, ['keys', 're-encrypt', '--json']);
    expect(JSON.parse(reEncrypted.stdout)).toMatchObject({ keys: 1, webhooks: 1 });
  });
});
