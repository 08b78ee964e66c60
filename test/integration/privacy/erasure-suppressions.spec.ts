import { addressKey } from '../../../src/common/mail-address';
import { OutgoingMessagesService } from '../../../src/modules/emails/outgoing-messages.service';
import { MailboxErasureService } from '../../../src/modules/local-mailbox/mailbox.service';
import { SuppressionImportService } from '../../../src/modules/suppressions/suppression-import.service';
import { SuppressionListService } from '../../../src/modules/suppressions/suppression-list.service';
import { SuppressionsService } from '../../../src/modules/suppressions/suppressions.service';
import { HARD_BOUNCE } from '../../factories/outcomes';
import { addSuppression } from '../../factories/tenants';
import { startCore } from '../../setup/core-context';
import { ErasureScene } from './erasure-scene';

describe('the suppressions of an erased address', () => {
  let scene: ErasureScene;
  let ann: string;
  let number = 0;
  beforeAll(async () => {
    scene = await ErasureScene.open();
  });
  beforeEach(() => {
    number += 1;
    ann = `Ann${number}@x.example`;
  });
  afterAll(() => scene.close());

  const owner = (mode: 'live' | 'test' = 'live') => ({ organizationId: scene.tenant.organizationId, mode });
  const list = () => scene.delivery.core.get(SuppressionListService);
  const listAs = (reason: string, fields: Record<string, unknown> = {}) =>
    addSuppression(scene.db, scene.tenant, { email: ann, reason, ...fields });
  const entries = () =>
    scene.db.query('select * from suppressions where organization_id = $1 and email like $2 order by reason', [
      scene.tenant.organizationId,
      '%***@x.example',
    ]);
  afterEach(() => scene.db.query('delete from suppressions'));

  it.each([['spam_complaint'], ['hard_bounce'], ['blocklist']] as const)(
    'of the reason %s go on blocking',
    async (reason) => {
      await listAs(reason);
      expect((await scene.erase(ann)).receipt).toMatchObject({
        ...{ suppressionsRemoved: 0, suppressionsHashed: 1 },
        retentionExceptions: [{ category: 'suppression', reason }],
      });
      expect(await entries()).toEqual([
        expect.objectContaining({
          reason,
          address_key: expect.stringMatching(/^hmac:[\w-]{43}$/),
          email: 'A***@x.example',
        }),
      ]);
      await expect(scene.send({ to: [ann.toUpperCase()] })).rejects.toMatchObject({
        code: 'recipient_suppressed',
        details: { suppressedRecipients: [{ email: expect.any(String), reason }] },
      });
      const { suppressed } = await scene.send({ to: [ann, 'bob@x.example'] });
      expect(suppressed).toEqual([{ email: ann, reason }]);
      expect(await scene.worker.get(SuppressionsService).reasonOf(owner(), ann)).toBe(reason);
    },
  );

  it.each([['manual'], ['unsubscribe'], ['soft_bounce']] as const)('of the reason %s are gone', async (reason) => {
    await listAs(reason, reason === 'soft_bounce' ? { expiresAt: new Date(Date.now() + 1e9) } : {});
    expect((await scene.erase(ann)).receipt).toMatchObject({
      ...{ suppressionsRemoved: 1, suppressionsHashed: 0, retentionExceptions: [] },
    });
    expect((await scene.send({ to: [ann], category: 'bulk' })).suppressed).toEqual([]);
  });

  it('block mail that is in the queue already', async () => {
    const delivery = { ...owner(), recipient: ann, category: 'transactional' };
    const blocked = () => scene.worker.get(OutgoingMessagesService).findBlocked([delivery as never]);
    expect([...(await blocked()).values()]).toEqual([]);
    await listAs('hard_bounce');
    await scene.erase(ann);
    expect([...(await blocked()).values()]).toEqual(['hard_bounce']);
  });

  it('hold for their organization and mode only', async () => {
    await listAs('hard_bounce');
    const other = await scene.newTenant();
    await scene.erase(ann);
    expect((await scene.send({ to: [ann] }, { as: other })).suppressed).toEqual([]);
    expect((await scene.send({ to: [ann] }, { mode: 'test' })).suppressed).toEqual([]);
    const reasonOf = scene.worker.get(SuppressionsService);
    expect(await reasonOf.reasonOf(owner('test'), ann)).toBeUndefined();
  });

  it('are found by their address and taken off by the operator', async () => {
    await listAs('hard_bounce');
    await scene.erase(ann);
    const [found, total] = await list().page(owner(), { key: addressKey(ann), limit: 10, offset: 0 });
    expect([total, found[0]?.email]).toEqual([1, 'A***@x.example']);
    await expect(list().remove(owner(), ann, 'somebody')).rejects.toMatchObject({ code: 'suppression_not_removable' });
    expect(await list().removeByOperator(owner(), ann)).toEqual(['hard_bounce']);
    expect((await scene.send({ to: [ann] })).suppressed).toEqual([]);
  });

  it('stay single when the address is listed and erased again', async () => {
    await listAs('hard_bounce');
    await scene.erase(ann);
    const before = await entries();
    await listAs('hard_bounce');
    await listAs('spam_complaint');
    expect((await scene.erase(ann)).receipt).toMatchObject({
      suppressionsHashed: 2,
      retentionExceptions: [{ reason: 'hard_bounce' }, { reason: 'spam_complaint' }],
    });
    expect(await entries()).toEqual([before[0], expect.objectContaining({ reason: 'spam_complaint' })]);
    expect(await scene.tablesWith(ann)).toEqual([]);
  });

  it('are found and go on blocking however its sigmas are written', async () => {
    const [small, capital] = ['νικος.παππας@x.example', 'ΝΙΚΟΣ.ΠΑΠΠΑΣ@x.example'];
    for (const email of [small, capital]) {
      for (const reason of ['hard_bounce', 'unsubscribe']) {
        await addSuppression(scene.db, scene.tenant, { email, reason });
      }
    }
    expect((await scene.erase(capital)).receipt).toMatchObject({
      ...{ suppressionsRemoved: 2, suppressionsHashed: 2 },
      retentionExceptions: [{ reason: 'hard_bounce' }],
    });
    expect((await entries()).map(({ address_key }) => address_key)).toEqual([expect.stringMatching(/^hmac:/)]);
    for (const email of [small, capital]) {
      await expect(scene.send({ to: [email] })).rejects.toMatchObject({ code: 'recipient_suppressed' });
    }
  });

  it('are as many as before when nothing new is known', async () => {
    const { id } = await scene.send({ to: [ann] });
    await scene.tell(id, ann, HARD_BOUNCE);
    await scene.erase(ann);
    expect((await scene.erase(ann)).receipt).toMatchObject({
      ...{ suppressionsHashed: 0, emailsAnonymized: 0 },
      retentionExceptions: [{ reason: 'hard_bounce' }],
    });
  });

  it('that are imported during it are deleted as well', async () => {
    await listAs('hard_bounce');
    const mailbox = scene.worker.get(MailboxErasureService);
    const find = mailbox.find.bind(mailbox);
    // A later step than that of the list.
    jest.spyOn(mailbox, 'find').mockImplementationOnce(async (...page) => {
      const csv = `address,reason,notes\n${ann},manual,of ${ann}\nbob@x.example,manual,`;
      const wanted = { owner: owner(), form: 'waybill' as const, csv, actor: 'somebody', keepReasons: false };
      expect(await scene.delivery.core.get(SuppressionImportService).import(wanted)).toMatchObject({ added: 2 });
      return find(...page);
    });
    expect(await scene.erase(ann)).toMatchObject({
      status: 'completed',
      receipt: {
        ...{ suppressionsRemoved: 1, suppressionsHashed: 1 },
        retentionExceptions: [{ category: 'suppression', reason: 'hard_bounce' }],
      },
    });
    expect(await scene.tablesWith(ann)).toEqual([]);
    expect(await scene.worker.get(SuppressionsService).reasonOf(owner(), 'bob@x.example')).toBe('manual');
  });

  it('outlive a change of the master key', async () => {
    await listAs('hard_bounce');
    await scene.erase(ann);
    const previous = Buffer.alloc(32, 7).toString('base64');
    const env = { MASTER_KEY: Buffer.alloc(32, 8).toString('base64'), MASTER_KEY_PREVIOUS: previous };
    const later = await startCore(scene.db.url, { clock: scene.clock, env });
    expect(await later.get(SuppressionsService).reasonOf(owner(), ann)).toBe('hard_bounce');
    await later.close();
  });
});
