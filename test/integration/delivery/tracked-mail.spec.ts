import PostalMime from 'postal-mime';
import { OrganizationsService } from '../../../src/auth/organizations/organizations.service';
import { MINUTE } from '../../../src/common/clock';
import { RecipientLink } from '../../../src/delivery/tokens/recipient-link';
import { FakeClock } from '../../doubles/fake-clock';
import { type SinkMessage, SmtpSink } from '../../doubles/smtp-sink';
import { verifyDkim } from '../../e2e/kit/verify-dkim';
import { testConfig } from '../../setup/core-context';
import { DeliveryScene } from '../../setup/delivery-scene';

const PUBLIC_URL = 'https://mail.example.org/base';
const HTML = '<p>Good day</p><a href="https://shop.example/?a=1&amp;b=2">Offer</a>';
const links = new RecipientLink(testConfig().masterKey);

describe('tracked mail', () => {
  let scene: DeliveryScene;
  let sink: SmtpSink;
  let ordinal: number;

  const clock = new FakeClock(new Date().toISOString());

  beforeAll(async () => {
    scene = await DeliveryScene.open(clock);
    sink = await SmtpSink.start();
    const [row] = await scene.db.query('select ordinal from organizations where id = $1', [
      scene.tenant.organizationId,
    ]);
    ordinal = row?.ordinal as number;
  });
  beforeEach(() => sink.clear());
  afterEach(() => scene.clear());
  afterAll(async () => {
    await scene.close();
    await sink.stop();
  });

  const start = () => scene.startWorker({ hopPort: sink.port, env: { PUBLIC_URL } });

  /** Sends one email through a worker that has not seen the domain before. */
  async function send(fields: Record<string, unknown>): Promise<string> {
    const id = await scene.accept({ html: HTML, tracking: { opens: true, clicks: true }, ...fields });
    const worker = await start();
    await scene.readWhenStatus(id, 'sent');
    await worker.close();
    return id;
  }

  it('is another one for each recipient, with and without attachments, under a signature that holds', async () => {
    const attachment = { filename: 'a.txt', content: Buffer.from('Terms').toString('base64') };
    for (const attachments of [[], [attachment]]) {
      const id = await send({ to: ['ann@x.example'], bcc: ['bob@x.example'], attachments });
      for (const [position, recipient] of ['ann@x.example', 'bob@x.example'].entries()) {
        const message = sink.messages.find(({ recipients }) => recipients.includes(recipient))!;
        expect(message.recipients).toEqual([recipient]);
        const target = { organizationOrdinal: ordinal, mode: 'live', emailId: id, position };
        expect(await trackedIn(message)).toEqual({
          bases: [PUBLIC_URL, PUBLIC_URL],
          click: { ...target, url: 'https://shop.example/?a=1&b=2' },
          open: target,
        });
        expect(await verifyDkim(message.content, scene.db.url)).toMatchObject([{ result: 'pass' }]);
      }
      sink.clear();
    }
  });

  it('leads over the host of its domain once that points at us', async () => {
    await scene.db.query('update domains set tracking_verified = true');
    await send({ to: ['ann@x.example'] });
    await scene.db.query('update domains set tracking_verified = false');
    const [message] = sink.messages;
    expect((await trackedIn(message!)).bases).toEqual(['https://click.acme.example', 'https://click.acme.example']);
  });

  it('has the same bytes at the next attempt', async () => {
    sink.behaviours.set('ann@x.example', 'close-after-dot');
    const id = await scene.accept({ to: ['ann@x.example'], html: HTML, tracking: { opens: true, clicks: true } });
    await start();
    await scene.readWhen(id, ({ deliveries }) => deliveries[0]?.state === 'waiting', 'a deferral');
    sink.behaviours.clear();
    clock.advance(2 * MINUTE);
    await scene.readWhenStatus(id, 'sent');
    expect(sink.messages[0]?.content.toString('latin1')).toBe(sink.unanswered[0]?.content.toString('latin1'));
    expect((await trackedIn(sink.messages[0]!)).bases).toHaveLength(2);
  });

  it('is tracked only as the organization or the mail demands', async () => {
    await send({ to: ['ann@x.example'], tracking: undefined });
    expect(await trackedIn(sink.messages[0]!)).toEqual({ bases: [], click: undefined, open: undefined });
    const organizations = scene.core.get(OrganizationsService);
    await organizations.setTracking(scene.tenant.organizationId, { trackOpens: true, trackClicks: true });
    await send({ to: ['ann@x.example'], tracking: { opens: false } });
    expect(await trackedIn(sink.messages[1]!)).toMatchObject({ bases: [PUBLIC_URL], open: undefined });
    await send({ to: ['ann@x.example'], tracking: { opens: false, clicks: false } });
    expect((await PostalMime.parse(sink.messages[2]!.content)).html?.trim()).toBe(HTML);
  });
});

/** What the html of a mail gives away, and to whom. */
async function trackedIn({ content }: SinkMessage) {
  const { html = '' } = await PostalMime.parse(content);
  const [, clickBase, click = ''] = /<a href="([^"]*)\/t\/c\/([^"]*)"/.exec(html) ?? [];
  const [, openBase, open = ''] = /<img src="([^"]*)\/t\/o\/([^"]*)"/.exec(html) ?? [];
  return {
    bases: [clickBase, openBase].filter((base) => base !== undefined),
    click: links.open('click', click),
    open: links.open('open', open),
  };
}
