import { SendEmailsService } from '../../../../src/modules/emails/accept/send-emails.service';
import { verifyDkim } from '../../../e2e/kit/verify-dkim';
import { sendBody } from '../../../factories/send-requests';
import { readCounters } from '../../../factories/stored-email';
import { UnsubscribeScene } from './unsubscribe-scene';

describe('from the mail to the suppression list', () => {
  let app: UnsubscribeScene;
  beforeAll(async () => {
    app = await UnsubscribeScene.start();
  });
  afterEach(() => app.scene.db.query('delete from suppressions'));
  afterAll(() => app.close());

  const send = async (fields: Record<string, unknown>) => {
    const sender = app.scene.core.get(SendEmailsService);
    return (await sender.sendOne(sendBody(fields), undefined, app.scene.tenant.as('live'))).accepted;
  };

  it('each recipient has a link of their own, under a signature that holds', async () => {
    const mail = await app.sendBulk(['ann@x.example', 'bob@x.example'], { html: '<p>News</p>' });
    const links = ['ann@x.example', 'bob@x.example'].map((recipient) => app.linkIn(mail, recipient));
    expect(new Set(links).size).toBe(2);
    for (const { content } of mail.messages.values()) {
      expect(content.toString('latin1')).toContain('\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n');
      expect(await verifyDkim(content, app.scene.db.url)).toMatchObject([{ result: 'pass', domain: 'acme.example' }]);
    }
  });

  it('mail of test keys leaves no link behind: it never leaves', async () => {
    const { messages } = await app.sendBulk(['ann@x.example']);
    const id = await app.scene.accept({ to: ['bob@x.example'], category: 'bulk' }, 'test');
    await app.scene.readWhenStatus(id, 'delivered');
    expect(app.received).toEqual([...messages.values()]);
  });

  it('one click ends bulk mail to that recipient, and nothing else', async () => {
    const { organizationId } = app.scene.tenant;
    const mail = await app.sendBulk(['Ann@x.example', 'bob@x.example']);
    const before = await readCounters(app.scene.db, organizationId);
    const response = await app.call('POST', app.linkIn(mail, 'Ann@x.example'), {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'List-Unsubscribe=One-Click',
    });
    expect(response.status).toBe(200);
    expect(await app.unsubscriptions(mail.id)).toEqual([
      { source: 'tracking', recipient: 'Ann@x.example', method: 'one-click' },
    ]);
    expect(await app.suppressions()).toEqual([
      {
        organization_id: organizationId,
        mode: 'live',
        email: 'Ann@x.example',
        reason: 'unsubscribe',
        source: 'automatic',
      },
    ]);
    expect(await readCounters(app.scene.db, organizationId)).toEqual({
      ...before,
      unsubscribes: (before.unsubscribes ?? 0) + 1,
    });

    await expect(send({ to: ['ann@x.example'], category: 'bulk' })).rejects.toMatchObject({
      code: 'recipient_suppressed',
      details: { suppressedRecipients: [{ email: 'ann@x.example', reason: 'unsubscribe' }] },
    });
    expect((await send({ to: ['ann@x.example', 'bob@x.example'], category: 'bulk' })).suppressed).toEqual([
      { email: 'ann@x.example', reason: 'unsubscribe' },
    ]);
    expect((await send({ to: ['ann@x.example'] })).suppressed).toEqual([]);
  });

  it('mail that waits in the queue meanwhile is blocked, unless it is transactional', async () => {
    const mail = await app.sendBulk(['ann@x.example']);
    const scheduledAt = new Date(Date.now() + 120_000).toISOString();
    const [bulk, transactional] = await Promise.all(
      ['bulk', 'transactional'].map((category) => app.scene.accept({ to: ['ann@x.example'], category, scheduledAt })),
    );
    expect((await app.call('POST', app.linkIn(mail, 'ann@x.example'))).status).toBe(200);
    await app.scene.db.query("update deliveries set due_at = now() - interval '1 second', state = 'ready'");
    await app.scene.readWhenStatus(transactional!, 'delivered');
    const { events } = await app.scene.readWhenStatus(bulk!, 'failed');
    expect(events.at(-1)).toMatchObject({ event_type: 'blocked', data: { reason: 'blocked', detail: 'unsubscribe' } });
  });

  it('taken off the list, the address is listed again by the same link and by a newer one', async () => {
    const to = ['ann@x.example'];
    const first = await app.sendBulk(to);
    const link = app.linkIn(first, 'ann@x.example');
    await app.call('POST', link);
    await app.scene.db.query('delete from suppressions');
    expect((await app.call('POST', link)).status).toBe(200);
    expect(await app.suppressions()).toHaveLength(1);
    expect(await app.unsubscriptions(first.id)).toHaveLength(1);

    await app.scene.db.query('delete from suppressions');
    const second = await app.sendBulk(to);
    await app.call('POST', app.linkIn(second, 'ann@x.example'));
    expect(await app.suppressions()).toHaveLength(1);
    expect(await app.unsubscriptions(second.id)).toHaveLength(1);
  });
});
