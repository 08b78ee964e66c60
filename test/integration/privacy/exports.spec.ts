import { DAY } from '../../../src/common/clock';
import { BodyBudget } from '../../../src/common/http/request/request-body';
import { newId } from '../../../src/common/ids';
import { ExportsService } from '../../../src/modules/privacy/export/exports.service';
import { CleanUpExportsJob } from '../../../src/modules/privacy/privacy-requests.job';
import { storeEmail } from '../../factories/subject-emails';
import { waitFor } from '../../setup/wait-for';
import { startWorker } from '../../setup/worker-context';
import { dataOf, PrivacyScene, type Requester, startPrivacyWorker } from './privacy-scene';

const ADA = 'ada@example.com';

describe('an export', () => {
  let scene: PrivacyScene;
  let acme: Requester;
  beforeAll(async () => {
    scene = await PrivacyScene.open();
  });
  beforeEach(async () => {
    acme = await scene.requester();
  });
  afterAll(() => scene.close());

  const store = (fields: object = {}) =>
    storeEmail(scene.db, { organizationId: acme.organizationId, to: [ADA], ...fields });
  const audit = async () => {
    const entries = await scene.app.audit(acme.organizationId);
    return entries.filter(({ action }) => action.startsWith('privacy.')).map(({ action, data }) => ({ action, data }));
  };

  it('is accepted, worked off in the background, and read', async () => {
    const emailId = await store({ html: '<p>Hi</p>', events: [{ type: 'delivered', data: { recipient: ADA } }] });
    const accepted = dataOf(await acme.api.post('/v1/gdpr/export', { email: 'ADA@Example.com' }), 202);
    const createdAt = scene.clock.now().toISOString();
    expect(accepted).toEqual({
      requestId: expect.any(String),
      status: 'processing',
      email: 'ADA@example.com',
      format: 'json',
      estimatedCompletionDays: 1,
      dataCategories: ['email_addresses', 'email_content', 'delivery_events', 'suppression_records'],
      createdAt,
    });
    expect(await scene.read(acme.api, accepted.requestId)).toEqual(accepted);
    await scene.work();
    const { exportedData, ...completed } = await scene.read(acme.api, accepted.requestId);
    expect(completed).toEqual({
      ...accepted,
      ...{ status: 'completed', estimatedCompletionDays: 0, completedAt: createdAt },
      expiresAt: new Date(scene.clock.now().getTime() + 7 * DAY).toISOString(),
      itemCounts: { emails: 1, events: 2, suppressions: 0 },
      sizeBytes: expect.any(Number),
    });
    expect(exportedData).toEqual({
      emails: [
        {
          id: emailId,
          fromEmail: 'shop@acme.example',
          ...{ toEmails: [ADA], ccEmails: [], bccEmails: [] },
          ...{ subject: 'Hello', status: 'delivered', htmlBody: '<p>Hi</p>', textBody: 'Hello there' },
          createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
        },
      ],
      events: [
        { id: expect.any(String), emailId, eventType: 'queued', timestamp: expect.any(String), eventData: {} },
        {
          ...{ id: expect.any(String), emailId, eventType: 'delivered', timestamp: expect.any(String) },
          eventData: { recipient: ADA },
        },
      ],
      suppressions: [],
    });
  });

  it('is in the history, with the previous one, and in the audit log', async () => {
    const first = await scene.request(acme.api, ADA);
    await scene.work();
    const second = await scene.request(acme.api, 'bob@example.com', { format: 'csv' });
    await scene.read(acme.api, first);
    const requestedAt = scene.clock.now().toISOString();
    const type = 'article_15_access';
    expect(dataOf(await acme.api.get('/v1/gdpr/status'))).toEqual({
      requests: [
        { requestId: second, type, email: 'bob@example.com', status: 'pending', requestedAt },
        { requestId: first, type, email: ADA, status: 'completed', requestedAt, completedAt: requestedAt },
      ],
      total: 2,
    });
    expect(dataOf(await acme.api.get('/v1/gdpr/status?limit=1&offset=1'))).toMatchObject({
      requests: [{ requestId: first }],
      total: 2,
    });
    const [ada, bob] = [{ mode: 'live', email: 'a***@example.com', format: 'json' }, { email: 'b***@example.com' }];
    expect(await audit()).toEqual([
      { action: 'privacy.export_requested', data: ada },
      { action: 'privacy.export_completed', data: ada },
      { action: 'privacy.export_requested', data: { ...bob, mode: 'live', format: 'csv' } },
      { action: 'privacy.export_read', data: ada },
    ]);
    const { nextCursor, ...page } = dataOf(await acme.api.get('/v1/gdpr/status?limit=1'));
    expect(page).toMatchObject({ requests: [{ requestId: second }], total: 2 });
    const third = await scene.request(acme.api, 'eve@example.com');
    const following = dataOf(await acme.api.get(`/v1/gdpr/status?limit=1&offset=7&cursor=${nextCursor}`));
    expect(following).toMatchObject({ requests: [{ requestId: first }], total: 3 });
    expect(following).not.toHaveProperty('nextCursor');
    expect(dataOf(await acme.api.get('/v1/gdpr/status?limit=1&offset=2'))).not.toHaveProperty('nextCursor');
    expect(dataOf(await acme.api.get('/v1/gdpr/status')).requests[0]).toMatchObject({ requestId: third });
    await scene.work();
  });

  it('is the same one as long as it is open', async () => {
    const id = await scene.request(acme.api, ADA);
    const all = await Promise.all(Array.from({ length: 8 }, () => scene.request(acme.api, 'ada@EXAMPLE.com')));
    expect(new Set(all)).toEqual(new Set([id]));
    const others = [
      await scene.request(acme.api, ADA, { format: 'csv' }),
      await scene.request(acme.api, 'adam@example.com'),
      await scene.request(acme.testApi, ADA),
    ];
    expect(new Set([id, ...others]).size).toBe(4);
    await scene.work();
    expect(await scene.request(acme.api, ADA)).not.toBe(id);
    await scene.work();
  });

  it('begun by many at once is one', async () => {
    const ids = await Promise.all(Array.from({ length: 12 }, () => scene.request(acme.api, 'rush@example.com')));
    expect(new Set(ids).size).toBe(1);
    await scene.work();
  });

  it('of an unknown subject is empty', async () => {
    const { status, exportedData } = await scene.export(acme.api, 'nobody@example.com');
    expect({ status, exportedData }).toEqual({
      status: 'completed',
      exportedData: { emails: [], events: [], suppressions: [] },
    });
  });

  it('holds mail to the address in capitals, also where a small letter has two forms', async () => {
    const [small, capital] = ['νικος.παππας@example.com', 'ΝΙΚΟΣ.ΠΑΠΠΑΣ@example.com'];
    for (const to of [small, capital]) await storeEmail(scene.db, { organizationId: acme.organizationId, to: [to] });
    for (const email of [small, capital]) {
      const { exportedData } = await scene.export(acme.api, email);
      expect(exportedData.emails.map(({ toEmails }: { toEmails: string[] }) => toEmails)).toEqual([[small], [capital]]);
    }
  });

  it('holds mail to an address with an İ, and no mail to the one with an i', async () => {
    const [dotted, plain] = [['İbrahim@example.com', 'i̇brahim@example.com'], 'ibrahim@example.com'];
    for (const to of [...dotted, plain]) await storeEmail(scene.db, { organizationId: acme.organizationId, to: [to] });
    for (const [email, expected] of [...dotted.map((each) => [each, dotted] as const), [plain, [plain]] as const]) {
      const { exportedData } = await scene.export(acme.api, email);
      const received = exportedData.emails.map(({ toEmails }: { toEmails: string[] }) => toEmails);
      expect(received).toEqual(expected.map((each) => [each]));
    }
  });

  it('holds what is of its organization and mode, and belongs to them', async () => {
    const other = await scene.requester();
    const mine = await store();
    await store({ mode: 'test' });
    await storeEmail(scene.db, { organizationId: other.organizationId, to: [ADA] });
    const id = await scene.request(acme.api, ADA);
    await scene.work();
    const { exportedData } = await scene.read(acme.api, id);
    expect(exportedData.emails.map((email: { id: string }) => email.id)).toEqual([mine]);
    for (const api of [other.api, acme.testApi]) {
      expect((await api.get(`/v1/gdpr/export/${id}`)).status).toBe(404);
      expect(dataOf(await api.get('/v1/gdpr/status'))).toEqual({ requests: [], total: 0 });
    }
    const inTestMode = await scene.export(acme.testApi, ADA);
    expect(inTestMode.itemCounts).toEqual({ emails: 1, events: 1, suppressions: 0 });
  });

  it('leaves out mail that is accepted after the request', async () => {
    const before = await store();
    const id = await scene.request(acme.api, ADA);
    await store();
    await scene.work();
    const { exportedData } = await scene.read(acme.api, id);
    expect(exportedData.emails.map((email: { id: string }) => email.id)).toEqual([before]);
  });

  it('is deleted after seven days, and remembered', async () => {
    await store();
    const job = scene.worker.get(CleanUpExportsJob);
    const id = await scene.request(acme.api, ADA);
    await scene.work();
    scene.clock.advance(7 * DAY - 1);
    await job.cleanUp();
    expect((await scene.read(acme.api, id)).exportedData.emails).toHaveLength(1);
    scene.clock.advance(1);
    const expired = await scene.read(acme.api, id);
    expect(expired).toMatchObject({ status: 'completed', email: ADA });
    expect(expired).not.toHaveProperty('exportedData');
    const refused = await acme.api.call('GET', `/v1/gdpr/export/${id}`, undefined, { accept: 'application/zip' });
    expect([refused.status, refused.body.error.code]).toEqual([409, 'export_not_available']);
    expect(await scene.parts(id)).not.toEqual([]);
    await job.cleanUp();
    expect(await scene.parts(id)).toEqual([]);
  });

  it('is kept for as many days as are configured', async () => {
    const worker = await startPrivacyWorker(scene.db.url, scene.clock, { RETENTION_EXPORTS_DAYS: '2' });
    const id = await scene.request(acme.api, ADA);
    await scene.work(worker);
    await worker.close();
    scene.clock.advance(2 * DAY - 1);
    expect(await scene.read(acme.api, id)).toHaveProperty('exportedData');
    scene.clock.advance(1);
    expect(await scene.read(acme.api, id)).not.toHaveProperty('exportedData');
  });

  it('has a share of the memory for large responses until its client has read it', async () => {
    await store();
    const id = await scene.request(acme.api, ADA);
    await scene.work();
    const exports = scene.app.get(ExportsService);
    const find = exports.find.bind(exports);
    const bytes = 200 * 1024 * 1024;
    const finding = jest.spyOn(exports, 'find').mockImplementation(async (...given) => {
      const found = await find(...given);
      return { ...found, size: { ...found.size!, bytes } };
    });
    const budget = scene.app.get(BodyBudget);
    const [take, give] = [jest.spyOn(budget, 'take'), jest.spyOn(budget, 'give')];
    await scene.download(acme, id, 'application/zip');
    const most = 16 * 1024 * 1024;
    expect(take).toHaveBeenCalledWith(acme.organizationId, most);
    await waitFor(() => give.mock.calls.some(([holder, given]) => holder === acme.organizationId && given === most), {
      what: 'the end of the response',
    });
    take.mockReturnValue(false);
    await expect(scene.download(acme, id, 'application/zip')).rejects.toThrow(/^(429|503) /);
    for (const spy of [finding, take, give]) spy.mockRestore();
  });

  it('that is not known is not found', async () => {
    const erasure = dataOf(
      await acme.api.post('/v1/gdpr/delete-request', { email: ADA, confirmDelete: true }),
      202,
    ).requestId;
    for (const id of [newId(), 'none', erasure]) {
      const { status, body } = await acme.api.get(`/v1/gdpr/export/${id}`);
      expect([status, body.error.code]).toEqual([404, 'resource_not_found']);
    }
  });

  it('is worked off by the worker role by itself', async () => {
    await store();
    const id = await scene.request(acme.api, ADA);
    const worker = await startWorker(scene.db.url, { clock: scene.clock, hopPort: 9 });
    const isCompleted = async () => (await scene.read(acme.api, id)).status === 'completed';
    try {
      await waitFor(isCompleted, { what: 'the export' });
    } finally {
      await worker.close();
    }
    expect((await scene.read(acme.api, id)).exportedData.emails).toHaveLength(1);
  });
});
