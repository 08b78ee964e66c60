import { inflateRawSync } from 'node:zlib';
import { HOUR, MINUTE } from '../../../src/common/clock';
import { newId } from '../../../src/common/ids';
import { ExportHandler, MAX_PART_BYTES } from '../../../src/modules/privacy/export/export-handler.service';
import { ExportParts } from '../../../src/modules/privacy/export/export-parts.service';
import { PrivacyVault } from '../../../src/modules/privacy/privacy-vault.service';
import { LeaseLostError, PrivacyWork } from '../../../src/modules/privacy/processing/privacy-work.service';
import { storeEmail } from '../../factories/subject-emails';
import { dataOf, PrivacyScene, type Requester } from './privacy-scene';

const ADA = 'ada@example.com';
const never = new AbortController().signal;

describe('the work on an export', () => {
  let scene: PrivacyScene;
  let acme: Requester;
  beforeAll(async () => {
    scene = await PrivacyScene.open();
  });
  beforeEach(async () => {
    acme = await scene.requester();
  });
  afterEach(() => jest.restoreAllMocks());
  afterAll(() => scene.close());

  /** So many that there are several pages. */
  async function storeMany(count: number): Promise<void> {
    await scene.db.query(
      `with given as (
         select $1::uuid as organization_id, (left(uuid_v7_floor(now() - interval '1 hour')::text, 14) || '7'
           || lpad(to_hex(n), 3, '0') || '-8000-000000000000')::uuid as id, n
         from generate_series(1, $2::int) n
       ), emails as (
         insert into emails (organization_id, mode, id, domain_id, status, from_email, subject, to_emails, category,
           track_opens, track_clicks, event_sequence, created_at, updated_at)
         select organization_id, 'live', id, organization_id, 'delivered', 'shop@acme.example', 'Mail ' || n, array[$3],
           'transactional', false, false, 2, now(), now()
         from given
       ), contents as (
         insert into email_contents (organization_id, mode, email_id, text, addressees)
         select organization_id, 'live', id, repeat('Hello ' || n || ' ', 100), '{"to": [], "cc": [], "replyTo": []}'
         from given
       ), events as (
         insert into email_events (organization_id, mode, email_id, sequence, id, event_type, source, occurred_at, data)
         select organization_id, 'live', id, s, gen_random_uuid(), 'sent', 'smtp', now(), jsonb_build_object('recipient', $3)
         from given cross join generate_series(1, 2) s
       )
       insert into email_recipients (organization_id, mode, email_id, position, kind, address, status, updated_at)
       select organization_id, 'live', id, 0, 'to', $3, 'delivered', now() from given`,
      [acme.organizationId, count, ADA],
    );
  }

  const row = async (id: string) => {
    const [found] = await scene.db.query('select * from privacy_requests where id = $1', [id]);
    return found ?? {};
  };

  async function expectComplete(id: string, count: number): Promise<void> {
    const { exportedData, itemCounts } = await scene.read(acme.api, id);
    expect(itemCounts).toEqual({ emails: count, events: 2 * count, suppressions: 0 });
    const ids = (items: { id: string }[]) => new Set(items.map((item) => item.id)).size;
    expect([ids(exportedData.emails), ids(exportedData.events)]).toEqual([count, 2 * count]);
    expect([exportedData.emails.length, exportedData.events.length]).toEqual([count, 2 * count]);
  }

  it('is taken over where a dead worker left it, and gives one result', async () => {
    await storeMany(350);
    const [dying, heir] = [scene.worker, await scene.addWorker()];
    const id = await scene.request(acme.api, ADA);
    const write = jest.spyOn(dying.get(ExportParts), 'write');
    write.mockImplementationOnce(write.getMockImplementation() ?? jest.fn());
    write.mockRestore();
    const stop = new AbortController();
    const stalled = stallAfter(dying.get(ExportParts), 2);
    const leased = await dying.get(PrivacyWork).claimNext('article_15_access');
    if (!leased) throw new Error('There is nothing to do');
    const dead = dying.get(ExportHandler).run(leased, stop.signal);
    const rejected = expect(dead).rejects.toThrow(LeaseLostError);
    await stalled.reached;
    await scene.work(heir);
    expect((await row(id)).status).toBe('processing');
    scene.clock.advance(2 * MINUTE);
    await scene.work(heir);
    await expectComplete(id, 350);
    stalled.release();
    await rejected;
    await expectComplete(id, 350);
    expect(await scene.app.audit(acme.organizationId)).toContainEqual(
      expect.objectContaining({ action: 'privacy.export_completed' }),
    );
  });
});
