import { execFile, spawnSync } from 'node:child_process';
import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { NestFactory } from '@nestjs/core';
import { createTransport } from 'nodemailer';
import { WebhookReceiver } from '../doubles/webhook-receiver';
import { createTestDatabase, type TestDatabase } from '../setup/test-database';
import { waitFor } from '../setup/wait-for';
import { faultyNetwork, proxyStory, refusal } from './kit/faulty-network';
import { TWO_COPIES, typedUse } from './kit/sdk-sample';
import { allOf, domainsStory, feedStory } from './kit/sdk-walks';
import { ServiceProcess } from './kit/service-process';
import { TenantFactory } from './kit/tenant';

const ROOT = join(__dirname, '../..');
const SDK = join(ROOT, 'sdk');
const run = promisify(execFile);

let database: TestDatabase;
let tenants: TenantFactory;
let service: ServiceProcess;
let folder: string;
let baseUrl: string;
let apiKey: string;
/** The package as it is required; its types are held against it below. */
let sdk: any;
let client: any;

beforeAll(async () => {
  await run(process.execPath, [join(ROOT, 'scripts/build-sdk.mjs')], { cwd: ROOT });
  sdk = jest.requireActual(join(SDK, 'dist/cjs/index.js'));
  folder = mkdtempSync(join(tmpdir(), 'waybill-sdk-'));
  database = await createTestDatabase();
  tenants = await TenantFactory.open(database.url);
  ({ liveKey: apiKey } = await tenants.create('acme.example'));
  service = await ServiceProcess.start({
    DATABASE_URL: database.url,
    WAYBILL_DATA_DIR: folder,
    WEBHOOK_ALLOW_PRIVATE: 'true',
  });
  baseUrl = `http://127.0.0.1:${service.port}`;
  client = new sdk.Waybill({ apiKey, baseUrl });
});
afterAll(async () => {
  await service.stop();
  await tenants.close();
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
});

const MAIL = { to: ['ada@customer.example'], subject: 'Hello', text: 'Hello' };

/** A client behind a network with the given faults, which then lets everything through. */
function through(...faults: (Response | Error)[]) {
  const { requests, fetch } = faultyNetwork(...faults);
  return { requests, client: new sdk.Waybill({ apiKey, baseUrl, fetch }) };
}

describe('@waybill/client', () => {
  it('has a method for every operation below /v1', async () => {
    const document = (await (await fetch(`${baseUrl}/openapi.json`)).json()) as { paths: Record<string, object> };
    const operations = Object.entries(document.paths)
      .filter(([path]) => path.startsWith('/v1/'))
      .flatMap(([path, item]) =>
        Object.entries(item as Record<string, { operationId: string }>).map(([method, { operationId }]) => ({
          ...{ path, operationId },
          method: method.toUpperCase(),
        })),
      );
    expect(operations.length).toBeGreaterThan(40);
    for (const { operationId, method, path } of operations) {
      const { resource, name, ...at } = sdk.OPERATIONS[operationId];
      expect(at).toEqual({ method, path });
      expect(typeof client[resource][name]).toBe('function');
    }
  });

  it('sends, reads, walks through lists, reschedules and cancels', async () => {
    const scheduledAt = new Date(Date.now() + 3_600_000).toISOString();
    const { id, status } = await client.emails.send({ ...MAIL, scheduledAt, tags: ['walk'] });
    expect(status).toBe('scheduled');
    const later = new Date(Date.now() + 7_200_000).toISOString();
    expect(await client.emails.reschedule(id, { scheduledAt: later })).toMatchObject({ scheduledAt: later });
    expect(await client.emails.get(id)).toMatchObject({ id, scheduledFor: later });
    const batch = await client.emails.batch([MAIL, { to: [] }].map((mail) => ({ ...mail, tags: ['walk'] })));
    expect(batch.summary).toEqual({ total: 2, successful: 1, failed: 1 });
    const found: string[] = [];
    for await (const email of client.emails.listAll({ tag: 'walk', limit: 1 })) found.push(email.id);
    expect(found).toEqual([batch.data[0].id, id]);
    expect(await client.emails.cancel(id)).toEqual({ id, status: 'failed' });
  });

  it('walks through requests within their envelope, and the feed', async () => {
    for (const name of ['one', 'two']) await client.privacy.requestExport({ email: `${name}@walk.example` });
    const requests = await allOf<{ email: string }>(client.privacy.listRequestsAll({ limit: 1 }));
    expect(requests.map(({ email }) => email)).toEqual(['two@walk.example', 'one@walk.example']);
    await feedStory(client);
    await domainsStory(through, client);
  });

  it.each<[string, (name: string, domain: string) => object, (item: any) => string]>([
    ['suppressions', (name) => ({ email: `${name}@clear.example`, reason: 'manual' }), ({ email }) => email],
    ['templates', (name) => ({ name, subject: 'Hi', text: 'Hi' }), ({ id }) => id],
    ['inboundRoutes', (name, domain) => ({ address: `${name}@in.${domain}` }), ({ id }) => id],
    ['domains', (name, domain) => ({ domain: `${name}.${domain}` }), ({ id }) => id],
  ])('walks through all %s while they are deleted', async (resource, toItem, toPath) => {
    const { liveKey, domain } = await tenants.create(`${resource.toLowerCase()}.example`);
    const api = new sdk.Waybill({ apiKey: liveKey, baseUrl })[resource];
    const kept = (await api.list()).data.map(({ id }: any) => id);
    const made = new Set<string>();
    for (let n = 0; n < 5; n += 1) made.add((await api.create(toItem(`a${n}`, domain))).id);
    const walked: string[] = [];
    for await (const item of api.listAll({ limit: 2 })) {
      walked.push(item.id);
      if (made.has(item.id)) await api.delete(toPath(item));
      if (walked.length === 3) await api.create(toItem('b', domain));
    }
    expect(new Set(walked).size).toBe(walked.length);
    expect(walked).toEqual(expect.arrayContaining([...made, ...kept]));
  });

  it('tries again after 429, 5xx and a broken connection, with one key, and never after another 4xx', async () => {
    const flaky = through(
      refusal(503, 'service_unavailable', { 'retry-after': '0' }),
      refusal(429, 'rate_limit_exceeded', { 'retry-after': '0' }),
      new TypeError('fetch failed'),
    );
    const { id } = await flaky.client.emails.send(MAIL);
    expect(await client.emails.get(id)).toMatchObject({ subject: 'Hello' });
    const keys = flaky.requests.map(({ init }) => init.headers['idempotency-key']);
    expect(keys).toEqual(Array(4).fill(expect.stringMatching(/^[0-9a-f-]{36}$/)));
    expect(new Set(keys).size).toBe(1);
    const refused = through(refusal(409, 'suppression_not_removable', { 'retry-after': '0' }));
    await expect(refused.client.emails.send(MAIL)).rejects.toMatchObject({ code: 'suppression_not_removable' });
    expect(refused.requests).toHaveLength(1);
    for (const [status, code] of [
      [500, 'internal_error'],
      [503, 'service_unavailable'],
    ] as const) {
      const unkeyed = through(refusal(status, code, { 'retry-after': '0' }));
      const created = unkeyed.client.suppressions.create({ email: 'x@x.example', reason: 'manual' });
      await expect(created).rejects.toMatchObject({ status });
      expect(unkeyed.requests).toHaveLength(1);
    }
    const patient = through(refusal(429, 'rate_limit_exceeded', { 'retry-after': '3600' }));
    await expect(patient.client.emails.list()).rejects.toMatchObject({ retryAfterSeconds: 3_600 });
    const unlucky = through(
      ...Array.from({ length: 2 }, () => refusal(503, 'service_unavailable', { 'retry-after': '0' })),
    );
    await expect(unlucky.client.emails.list({}, { maxRetries: 1 })).rejects.toBeInstanceOf(sdk.ServerError);
  });

  it('takes no page of a proxy for a result, and knows an error whatever its body says', () => proxyStory(through));

  it('waits for its own first attempt, where that is still at work', async () => {
    const busy = () => refusal(409, 'idempotency_in_progress', { 'retry-after': '0' });
    const broken = through(new TypeError('socket hang up'), busy());
    expect(await broken.client.emails.send(MAIL)).toMatchObject({ status: 'queued' });
    expect(broken.requests).toHaveLength(3);
    const long = through(busy(), busy());
    await expect(long.client.emails.send(MAIL, { maxRetries: 1 })).rejects.toMatchObject({ status: 409 });
  });

  it('takes any time limit but none at all', async () => {
    const hanging = (timeoutMs: number) => {
      const aborted = (signal: AbortSignal) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));
      const soon = (): Promise<Response> =>
        new Promise((resolve) => setTimeout(() => resolve(refusal(404, 'resource_not_found')), 20));
      const through = {
        ...{ apiKey, baseUrl },
        fetch: (_: string, { signal }: never) => Promise.race([aborted(signal), soon()]),
      };
      return new sdk.Waybill(through).emails.get('1', { timeoutMs });
    };
    for (const timeoutMs of [Infinity, 2 ** 31]) {
      await expect(hanging(timeoutMs)).rejects.toMatchObject({ status: 404 });
    }
    for (const timeoutMs of [0, -1, NaN]) await expect(hanging(timeoutMs)).rejects.toThrow(TypeError);
  });

  it('keeps the key that is given, and counts a repetition once', async () => {
    const send = () => client.emails.send({ ...MAIL, subject: 'Once' }, { idempotencyKey: 'once' });
    const [first, second] = [await send(), await send()];
    expect(second).toEqual(first);
  });

  it('distinguishes refusals by class and code', async () => {
    const invalid = await client.emails.send({ ...MAIL, to: ['nobody'] }).catch((error: unknown) => error);
    expect(invalid).toBeInstanceOf(sdk.ValidationError);
    expect(Object.keys(invalid.fields)).toEqual(['to[0]']);
    expect(invalid.requestId).toMatch(/.+/);
    const missing = await client.domains.get('018f0000-0000-7000-8000-000000000000').catch((error: unknown) => error);
    expect([missing instanceof sdk.NotFoundError, sdk.isWaybillError(missing, 'resource_not_found')]).toEqual([
      true,
      true,
    ]);
    const outsider = new sdk.Waybill({ apiKey: 'wb_live_x', baseUrl });
    await expect(outsider.emails.list()).rejects.toBeInstanceOf(sdk.AuthenticationError);
    const from = { from: 'x@elsewhere.example' };
    await expect(client.emails.send({ ...MAIL, ...from })).rejects.toBeInstanceOf(sdk.UnprocessableError);
    const away = new sdk.Waybill({ apiKey, baseUrl: 'http://127.0.0.1:9', maxRetries: 0 });
    await expect(away.emails.list()).rejects.toBeInstanceOf(sdk.ConnectionError);
  });

  it('sends nothing where an option or an id cannot be what it is for', async () => {
    const { requests, client: watched } = through();
    // `/v1/emails/../events` is the feed of all events.
    for (const id of ['.', '..']) await expect(watched.emails.events(id)).rejects.toThrow(TypeError);
    for (const idempotencyKey of ['', 'a\nb', '\u65e5', 'k'.repeat(256)]) {
      await expect(watched.emails.send(MAIL, { idempotencyKey })).rejects.toThrow('idempotencyKey must be');
    }
    expect(requests).toEqual([]);
    for (const wrong of [undefined, '', 'localhost:3000', '127.0.0.1:3000', 'ftp://mail.example.com']) {
      expect(() => new sdk.Waybill({ apiKey, baseUrl: wrong })).toThrow('baseUrl must begin with');
    }
    const twoLines = () => new sdk.Waybill({ apiKey: `${apiKey}\nx`, baseUrl });
    expect(twoLines).toThrow('apiKey must be one line');
    expect(twoLines).not.toThrow(apiKey);
    for (const blank of ['\n', '\r\n', ' ']) {
      const read = new sdk.Waybill({ apiKey: blank + apiKey + blank, baseUrl: `${blank}${baseUrl}/v1/${blank}` });
      expect(await read.emails.list({ limit: 1 })).toMatchObject({ pagination: { page: 1 } });
    }
  });

  it('ends when it takes too long, and when it is aborted', async () => {
    const never = (_url: string, { signal }: RequestInit) =>
      new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(new Error('aborted'))));
    const silent = new sdk.Waybill({ apiKey, baseUrl, fetch: never, maxRetries: 0 });
    await expect(silent.emails.list({}, { timeoutMs: 5 })).rejects.toBeInstanceOf(sdk.TimeoutError);
    const controller = new AbortController();
    const asked = silent.emails.list({}, { signal: controller.signal });
    controller.abort();
    await expect(asked).rejects.toThrow('aborted');
    await expect(client.emails.list({}, { signal: AbortSignal.abort() })).rejects.toThrow();
  });

  it('returns downloads as unchanged bytes', async () => {
    const bytes = Uint8Array.from([0, 0xff, 0xc3, 0x28]);
    const answer = new Response(bytes, { headers: { 'content-type': 'application/octet-stream' } });
    expect(await through(answer).client.inboundEmails.raw('x')).toEqual(bytes);
  });

  it('reads an export as files while they arrive', async () => {
    const { requestId } = await client.privacy.requestExport({ email: 'ada@files.example', format: 'csv' });
    await waitFor(async () => (await client.privacy.readExport(requestId)).status === 'completed', {
      what: 'the export',
    });
    const csv = await client.privacy.readExportCsv(requestId, { section: 'suppressions' });
    expect(csv).toMatchObject({
      contentType: expect.stringMatching(/^text\/csv/),
      filename: `${requestId}-suppressions.csv`,
    });
    expect(await new Response(csv.body).text()).toMatch(/^id,email,reason,suppressedAt,notes\r\n/);
    const zip = await client.privacy.readExportZip(requestId);
    expect(zip).toMatchObject({ contentType: 'application/zip', filename: `${requestId}.zip` });
    expect(Buffer.from(await new Response(zip.body).arrayBuffer()).toString('latin1')).toMatch(/^PK/);
    await expect(client.privacy.readExportZip(randomUUID(), {})).rejects.toMatchObject({ code: 'resource_not_found' });
  });

  it('gives a download to its reader as it begins, whose time has no limit, and ends it by its signal', async () => {
    const refused = refusal(503, 'service_unavailable', { 'retry-after': '0' });
    const { client, requests } = through(refused, new Response('PK'));
    expect(await client.privacy.readExportZip('x')).toMatchObject({ filename: undefined });
    expect(requests.map(({ init }) => init.headers.accept)).toEqual(['application/zip', 'application/zip']);
    const server = createServer((_request, response) => void response.write('PK')).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const slow = new sdk.Waybill({ apiKey, baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
    const controller = new AbortController();
    const reader = (await slow.privacy.readExportZip('x', {}, { signal: controller.signal })).body.getReader();
    expect(Buffer.from((await reader.read()).value).toString()).toBe('PK');
    controller.abort(new Error('enough'));
    await expect(reader.read()).rejects.toThrow('enough');
    server.close().closeAllConnections();
  });

  it('makes html of React elements, in batches too', async () => {
    const render = (element: { name: string }) => Promise.resolve(`<p>Hello ${element.name}</p>`);
    const drawing = new sdk.Waybill({ apiKey, baseUrl, render });
    const mail = { to: MAIL.to, subject: 'React', react: { name: 'Ada' } };
    const { id } = await drawing.emails.send(mail);
    const { data } = await drawing.emails.batch([mail]);
    for (const each of [id, data[0].id]) {
      expect(await client.emails.content(each)).toMatchObject({ html: '<p>Hello Ada</p>' });
    }
    await expect(client.emails.send(mail)).rejects.toThrow('render');
  });

  it('verifies the webhooks of the service', async () => {
    const receiver = await WebhookReceiver.start();
    const { secret, id: webhookId } = await client.webhooks.create({ url: receiver.url(), events: ['delivered'] });
    const { id } = await client.emails.send(MAIL);
    const received = await waitFor(() => receiver.received.find(({ body }) => body.includes(id)), {
      what: 'a webhook',
    });
    const event = await client.webhooks.verify(received.body, received.headers, ['whsec_AAAA', secret]);
    expect(event).toMatchObject({ type: 'email.delivered', data: { emailId: id, recipient: 'ada@customer.example' } });
    const headers = new Headers(received.headers as Record<string, string>);
    const foreign = { get: (name: string) => headers.get(name) };
    await expect(sdk.verifyWebhook(Buffer.from(received.body), foreign, secret)).resolves.toEqual(event);
    await expect(client.webhooks.verify(`${received.body} `, received.headers, secret)).rejects.toBeInstanceOf(
      sdk.WebhookVerificationError,
    );
    await client.webhooks.delete(webhookId);
    await receiver.stop();
  });

  it('takes no webhook that is old, unsigned or signed by another', async () => {
    const secret = `whsec_${randomBytes(24).toString('base64')}`;
    const signed = (seconds: number, key = secret) => {
      const timestamp = String(Math.floor(Date.now() / 1_000) + seconds);
      const hmac = createHmac('sha256', Buffer.from(key.slice(6), 'base64')).update(`1.${timestamp}.{"type":"x"}`);
      const signature = `v1a,x v1,${hmac.digest('base64')}`;
      return { 'webhook-id': '1', 'Webhook-Timestamp': timestamp, 'webhook-signature': signature };
    };
    const verify = (headers: object) => sdk.verifyWebhook('{"type":"x"}', headers, secret);
    await expect(verify(signed(0))).resolves.toEqual({ type: 'x' });
    const other = `whsec_${randomBytes(24).toString('base64')}`;
    for (const headers of [
      signed(-400),
      signed(400),
      signed(0, other),
      {},
      { ...signed(0), 'webhook-signature': 'v1,' },
    ]) {
      await expect(verify(headers)).rejects.toBeInstanceOf(sdk.WebhookVerificationError);
    }
  });

  it('is a transport of Nodemailer', async () => {
    const { WaybillTransport } = jest.requireActual(join(SDK, 'dist/cjs/nodemailer.js'));
    const transporter = createTransport(new WaybillTransport({ apiKey, baseUrl }));
    const mail = {
      from: 'Hello <hello@acme.example>',
      to: '"Ada Lovelace" <ada@customer.example>, bob@customer.example',
      bcc: 'eve@customer.example',
      replyTo: 'reply@acme.example',
      subject: 'From Nodemailer',
      html: '<img src="cid:logo">',
      headers: { 'X-Order': '1' },
      attachments: [
        { filename: 'a.txt', content: 'Grüße' },
        { filename: 'logo.png', content: Buffer.from([1, 2, 3]), cid: 'logo' },
      ],
    };
    const sent: any = await transporter.sendMail(mail);
    const email = await client.emails.get(sent.messageId);
    expect(email).toMatchObject({
      ...{
        fromName: 'Hello',
        toEmails: ['ada@customer.example', 'bob@customer.example'],
        replyTo: 'reply@acme.example',
      },
      ...{ bccEmails: ['eve@customer.example'], subject: 'From Nodemailer' },
    });
    const content = await client.emails.content(sent.messageId);
    expect(content.headers).toMatchObject({ 'X-Order': '1' });
    expect(content.attachments).toMatchObject([
      { filename: 'a.txt', size: 7 },
      { filename: 'logo.png', size: 3 },
    ]);
    const invitation = { ...mail, attachments: [], icalEvent: { content: 'BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n' } };
    const invited: any = await transporter.sendMail(invitation);
    expect(JSON.stringify(await client.emails.content(invited.messageId))).toContain('text/calendar');
    const reply: any = await transporter.sendMail({ ...mail, attachments: [], inReplyTo: '<first@acme.example>' });
    const answered = await client.emails.content(reply.messageId);
    expect(answered.headers).toMatchObject({ 'In-Reply-To': '<first@acme.example>' });
    const plain = { ...mail, attachments: [] };
    const rawOf = async (fields: object) => {
      const { messageId }: any = await transporter.sendMail({ ...plain, ...fields });
      return JSON.stringify(await client.emails.content(messageId));
    };
    expect(await rawOf({ headers: [{ key: 'X-Order', value: '2' }] })).toContain('"X-Order":"2"');
    expect(await rawOf({ headers: { 'X-Order': { prepared: true, value: '3' } } })).toContain('"X-Order":"3"');
    expect(await rawOf({ attachments: [{ raw: 'Content-Type: text/csv; name="b.csv"\r\n\r\na,b' }] })).toContain(
      'b.csv',
    );
    const group: any = await transporter.sendMail({ ...plain, to: 'Team: b@customer.example, c@customer.example;' });
    expect((await client.emails.get(group.messageId)).toEmails).toEqual(['b@customer.example', 'c@customer.example']);
    const own: any = await transporter.sendMail({ ...plain, messageId: '<own@acme.example>' });
    expect(await client.emails.get(own.messageId)).toMatchObject({ status: expect.any(String) });
    await client.suppressions.create({ email: 'Bob@customer.example', reason: 'manual' });
    const partly = await transporter.sendMail({ ...mail, to: 'Ada@customer.example, Bob@customer.example', bcc: [] });
    expect(partly).toMatchObject({ accepted: ['Ada@customer.example'], rejected: ['Bob@customer.example'] });
    await expect(transporter.sendMail({ ...mail, from: 'x@elsewhere.example' })).rejects.toMatchObject({
      code: 'domain_not_verified',
    });
  });

  it('is a module of Nest', async () => {
    const { WaybillModule } = jest.requireActual(join(SDK, 'dist/cjs/nestjs.js'));
    const options = { apiKey, baseUrl };
    for (const module of [WaybillModule.forRoot(options), WaybillModule.forRootAsync({ useFactory: () => options })]) {
      const app = await NestFactory.createApplicationContext(module, { logger: false });
      expect((await app.get(sdk.Waybill).emails.list({ limit: 1 })).data).toHaveLength(1);
      await app.close();
    }
  });

  it('declares parameters and results in its types', async () => {
    const compilerOptions = {
      ...{ strict: true, noEmit: true, target: 'es2022', module: 'esnext', moduleResolution: 'bundler', types: [] },
      ...{ lib: ['es2022', 'dom'], exactOptionalPropertyTypes: true },
    };
    writeFileSync(join(folder, 'sample.ts'), typedUse(join(SDK, 'dist/esm/index.js')));
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['sample.ts'] }));
    const compiler = join(ROOT, 'node_modules/typescript-7/bin/tsc');
    // What is wrong would be in the output.
    const problems = await run(process.execPath, [compiler, '-p', folder, '--pretty', 'false']).then(
      ({ stdout }) => stdout,
      ({ stdout }: { stdout: string }) => stdout,
    );
    expect(problems).toBe('');
  });

  it('packs without network, with nothing to install, and loads as a module too, beside a copy that is required', async () => {
    const { stdout } = await run('npm', ['pack', '--dry-run', '--json', '--offline'], { cwd: SDK });
    const [{ files }] = JSON.parse(stdout) as [{ files: { path: string }[] }];
    const paths = files.map(({ path }) => path);
    expect(paths).toEqual(expect.arrayContaining(['README.md', 'dist/esm/index.js', 'dist/cjs/nestjs.d.ts']));
    expect(paths.filter((path) => !/^(dist\/|README\.md|LICENSE|package\.json)/.test(path))).toEqual([]);
    expect(JSON.parse(readFileSync(join(SDK, 'package.json'), 'utf8'))).not.toHaveProperty('dependencies');
    const program = `import { Waybill } from './dist/esm/index.js'; import './dist/esm/nodemailer.js'; import './dist/esm/nestjs.js';
      const { pagination } = await new Waybill({ apiKey: '${apiKey}', baseUrl: '${baseUrl}' }).emails.list(); console.log(pagination.page);`;
    const loaded = await run(process.execPath, ['--input-type=module', '-e', program], { cwd: SDK });
    expect(loaded.stdout).toBe('1\n');
    const copies = await run(process.execPath, ['--input-type=module', '-e', TWO_COPIES], { cwd: SDK });
    expect(JSON.parse(copies.stdout)).toEqual(Array(34).fill(true));
  });
});

describe('docs/recipes', () => {
  const RECIPES = [
    ['node', ['fetch.mjs']],
    ['python3', ['send.py']],
    ['php', ['send.php']],
    ['go', ['run', 'send.go']],
    ['sh', ['send.sh']],
  ] as const;
  /** PHP comes without curl on many machines. */
  const hasCurl = () => spawnSync('php', ['-r', 'exit(extension_loaded("curl") ? 0 : 1);']).status === 0;
  const isThere = (command: string) => spawnSync(command, ['--version']).error === undefined;
  const available = RECIPES.filter(([one]) => (one === 'php' ? hasCurl() : isThere(one === 'sh' ? 'curl' : one)));

  it.each(available)('%s %s sends a mail', async (command, args) => {
    const env = { ...process.env, WAYBILL_URL: baseUrl, WAYBILL_API_KEY: apiKey, WAYBILL_TO: 'ada@customer.example' };
    const { stdout } = await run(command, [...args], { cwd: join(ROOT, 'docs/recipes'), env });
    expect(await client.emails.get(stdout.trim())).toMatchObject({ toEmails: ['ada@customer.example'] });
  });

  it.each(available)('%s %s fails where no mail is sent, and says why', async (command, args) => {
    const env = { ...process.env, WAYBILL_URL: baseUrl, WAYBILL_API_KEY: 'wb_live_unknown' };
    const failed = run(command, [...args], { cwd: join(ROOT, 'docs/recipes'), env });
    await expect(failed).rejects.toMatchObject({ stdout: '', stderr: expect.stringContaining('invalid_api_key') });
  });

  it.each(available)('%s %s goes on after a page of a proxy, with the same key', async (command, args) => {
    const keys: unknown[] = [];
    const proxy = createServer((request, response) => {
      keys.push(request.headers['idempotency-key']);
      if (keys.length === 1) return void response.writeHead(502, { 'retry-after': '1' }).end('<h1>Bad Gateway</h1>\n');
      const headers = { ...request.headers, host: new URL(baseUrl).host };
      const onward = httpRequest(baseUrl + request.url, { method: request.method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(response);
      });
      request.pipe(onward);
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const { port } = proxy.address() as AddressInfo;
    const env = { ...process.env, WAYBILL_URL: `http://127.0.0.1:${port}`, WAYBILL_API_KEY: apiKey };
    try {
      const { stdout } = await run(command, [...args], { cwd: join(ROOT, 'docs/recipes'), env });
      expect(await client.emails.get(stdout.trim())).toMatchObject({ toEmails: ['ada@example.com'] });
      expect(keys).toHaveLength(2);
      expect(new Set(keys).size).toBe(1);
    } finally {
      proxy.close();
    }
  });

  const python = available.filter(([command]) => command === 'python3');
  it.each(python)('%s brings a suppression list along, as often as one likes', async (command) => {
    const env = { ...process.env, WAYBILL_URL: baseUrl, WAYBILL_API_KEY: apiKey };
    const list = join(folder, 'suppressed.csv');
    writeFileSync(list, 'Reason,EmailAddress\nHardBounce,gone@x.example\n"SpamComplaint","angry@x.example"\n');
    const args = [join(ROOT, 'docs/recipes/import-suppressions.py'), list];
    expect((await run(command, args, { env })).stdout.trim()).toBe('2 added, 2 in the file');
    expect((await run(command, args, { env })).stdout.trim()).toBe('0 added, 2 in the file');
    writeFileSync(list, 'plain@x.example\n');
    expect((await run(command, args, { env })).stdout.trim()).toBe('1 added, 1 in the file');
    expect(await client.suppressions.check({ email: 'angry@x.example' })).toMatchObject({ suppressed: true });
  });
});
