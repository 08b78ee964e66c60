import { newId } from '../../../src/common/ids';
import { ErasureHandler } from '../../../src/modules/privacy/erasure/erasure-handler.service';
import { PrivacyRequestsJob } from '../../../src/modules/privacy/privacy-requests.job';
import { storeEmail } from '../../factories/subject-emails';
import { addSuppression } from '../../factories/tenants';
import { dataOf, PrivacyScene, type Requester } from './privacy-scene';

const ADA = 'ada@example.com';

describe('a delete request', () => {
  let scene: PrivacyScene;
  let acme: Requester;
  beforeAll(async () => {
    scene = await PrivacyScene.open();
  });
  beforeEach(async () => {
    acme = await scene.requester();
  });
  afterAll(() => scene.close());

  const post = (body: unknown, api = acme.api) => api.post('/v1/gdpr/delete-request', body);
  const work = () => scene.worker.get(PrivacyRequestsJob).workOff(scene.worker.get(ErasureHandler));
  const exception = { category: 'suppression', reason: 'spam_complaint', basis: expect.any(String) };

  it('is accepted, worked off in the background, and read', async () => {
    await storeEmail(scene.db, { organizationId: acme.organizationId, to: [ADA] });
    const listed = { email: ADA, reason: 'spam_complaint' } as const;
    await addSuppression(scene.db, { organizationId: acme.organizationId } as never, listed);
    const accepted = dataOf(await post({ email: 'ADA@example.com', confirmDelete: true, reason: 'asked' }), 202);
    const createdAt = scene.clock.now().toISOString();
    expect(accepted).toEqual({
      ...{ requestId: expect.any(String), status: 'processing', email: 'ADA@example.com', createdAt },
      retentionExceptions: [exception],
    });
    const path = `/v1/gdpr/delete-request/${accepted.requestId}`;
    expect(dataOf(await acme.api.get(path))).toEqual(accepted);
    await work();
    expect(dataOf(await acme.api.get(path))).toEqual({
      ...accepted,
      ...{ status: 'completed', email: 'A***@example.com', completedAt: createdAt },
      receipt: {
        ...{ emailsAnonymized: 1, recipientsAnonymized: 1, eventsAnonymized: expect.any(Number), contentsDeleted: 1 },
        ...{ deliveriesCancelled: 0, suppressionsRemoved: 0, suppressionsHashed: 1, mailboxCopiesDeleted: 0 },
        ...{ reportsDeleted: 0, inboundEmailsDeleted: 0, exportsDeleted: 0 },
      },
    });
    const [entry] = dataOf(await acme.api.get('/v1/gdpr/status')).requests;
    expect(entry).toMatchObject({ type: 'article_17_erasure', email: 'A***@example.com', status: 'completed' });
    const actions = (await scene.app.audit(acme.organizationId)).map(({ action, data }) => [
      action,
      (data as { email?: string }).email,
    ]);
    expect(actions).toEqual(
      expect.arrayContaining([
        ['privacy.erasure_requested', 'A***@example.com'],
        ['privacy.erasure_completed', 'A***@example.com'],
      ]),
    );
    const { status, body } = await acme.api.get(`/v1/suppressions?email=${ADA}`);
    expect([status, body.data]).toEqual([200, [expect.objectContaining({ email: 'A***@example.com' })]]);
  });

  it('ends an export of the same subject, done or not, and hides its address', async () => {
    await storeEmail(scene.db, { organizationId: acme.organizationId, to: [ADA] });
    const done = await scene.request(acme.api, ADA);
    await scene.work();
    const open = await scene.request(acme.api, ADA);
    await post({ email: ADA, confirmDelete: true });
    await work();
    for (const [id, status] of [
      [done, 'completed'],
      [open, 'failed'],
    ] as const) {
      const read = await scene.read(acme.api, id);
      expect(read).toMatchObject({ status, email: 'a***@example.com' });
      expect(read).not.toHaveProperty('exportedData');
      expect(await scene.parts(id)).toEqual([]);
    }
    await scene.work();
    expect(await scene.read(acme.api, open)).toMatchObject({ status: 'failed' });
  });

  it.each([
    ['no address', { confirmDelete: true }, 'email'],
    ['no address that is one', { email: 'ada', confirmDelete: true }, 'email'],
    ['a name', { email: 'Ada <ada@example.com>', confirmDelete: true }, 'email'],
    ['no confirmation', { email: ADA }, 'confirmDelete'],
    ['a denied confirmation', { email: ADA, confirmDelete: false }, 'confirmDelete'],
    ['a confirmation in words', { email: ADA, confirmDelete: 'true' }, 'confirmDelete'],
    ['a long reason', { email: ADA, confirmDelete: true, reason: 'x'.repeat(501) }, 'reason'],
    ['a field that there is not', { email: ADA, confirmDelete: true, mode: 'test' }, 'mode'],
  ])('with %s is refused, and nothing is begun', async (_name, body, field) => {
    const answer = await post(body);
    expect([answer.status, answer.body.error.code]).toEqual([400, 'invalid_request']);
    expect(JSON.stringify(answer.body.error.details)).toContain(field);
    expect(dataOf(await acme.api.get('/v1/gdpr/status')).total).toBe(0);
  });

  it('of another organization, the other mode or another type is not found', async () => {
    const { requestId } = dataOf(await post({ email: ADA, confirmDelete: true }), 202);
    const other = await scene.requester();
    const asked: [Requester['api'], string][] = [
      [other.api, requestId],
      [acme.testApi, requestId],
      [acme.api, newId()],
      [acme.api, 'none'],
      [acme.api, await scene.request(acme.api, ADA)],
    ];
    for (const [api, id] of asked) {
      const { status, body } = await api.get(`/v1/gdpr/delete-request/${id}`);
      expect([status, body.error.code]).toEqual([404, 'resource_not_found']);
    }
  });
});
