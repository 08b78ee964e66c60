import { SmtpSink } from '../../doubles/smtp-sink';
import { complaint, HARD_BOUNCE_REPORT } from '../../factories/report-messages';
import { MAIL_HOST, ReportScene } from './report-scene';

const FBL = `fbl@${MAIL_HOST}`;

describe('a complaint to the feedback address', () => {
  let scene: ReportScene;
  let sink: SmtpSink;
  beforeAll(async () => {
    scene = await ReportScene.open();
    sink = await SmtpSink.start();
  });
  afterEach(() => scene.delivery.db.query('delete from feedback_reports; delete from suppressions'));
  afterAll(async () => {
    await scene.close();
    await sink.stop();
  });

  /** A mail as its recipients got it. */
  async function sentMail(...to: string[]): Promise<{ id: string; original: string; path: string }> {
    const id = await scene.delivery.accept({ to: to.length > 0 ? to : ['ada@x.example'] });
    const worker = await scene.delivery.startWorker({ hopPort: sink.port });
    await scene.delivery.readWhenStatus(id, 'sent');
    await worker.close();
    // Mail of other tests may go out with it.
    const message = sink.messages.findLast(({ content }) => content.includes(id))!;
    return { id, original: message.content.toString('latin1'), path: message.from };
  }

  const expectComplaint = async (id: string, recipient: string) => {
    expect(await scene.reportedEvents(id)).toEqual(['spam_report']);
    expect(await scene.suppressions()).toMatchObject([{ email: recipient, reason: 'spam_complaint' }]);
    const { organizationId } = scene.delivery.tenant;
    expect(
      await scene.delivery.db.query('select organization_id, mode, email_id, position from feedback_reports'),
    ).toEqual([{ organization_id: organizationId, mode: 'live', email_id: id, position: expect.any(Number) }]);
  };

  it('is known by the return path that it names', async () => {
    const id = await scene.delivery.accept({ to: ['ada@x.example', 'bob@x.example'] });
    const originalMailFrom = await scene.returnPathOf(id, { position: 1 });
    expect(await scene.report(complaint({ originalMailFrom }), FBL, 'loop@isp.example')).toBe('spam_report');
    await expectComplaint(id, 'bob@x.example');
  });

  it('is known by the Return-Path of the mail that it attaches', async () => {
    const id = await scene.delivery.accept({ to: ['ada@x.example'] });
    const original = `Return-Path: <${await scene.returnPathOf(id)}>\r\nSubject: Hi\r\n\r\nHello\r\n`;
    expect(await scene.report(complaint({ original }), `abuse@${MAIL_HOST}`)).toBe('spam_report');
    await expectComplaint(id, 'ada@x.example');
  });

  it('is known by our signature over the mail that it attaches, and by no other', async () => {
    const { id, original } = await sentMail();
    const altered = original.replace('Hello', 'Hullo');
    expect(await scene.report(complaint({ original: altered }), FBL)).toBe('unidentified');
    const headOnly = original.slice(0, original.indexOf('\r\n\r\n') + 4);
    expect(await scene.report(complaint({ original: headOnly }), FBL)).toBe('unidentified');
    const unsigned = original.slice(original.indexOf('\r\nFrom: ') + 2);
    expect(await scene.report(complaint({ original: unsigned }), FBL)).toBe('unidentified');
    expect(await scene.suppressions()).toEqual([]);
    await scene.delivery.db.query('delete from feedback_reports');
    const received = `Received: from a by b; now\r\n${original}`;
    expect(await scene.report(complaint({ original: received }), FBL)).toBe('spam_report');
    await expectComplaint(id, 'ada@x.example');
  });

  it('about a mail to several concerns the one whom it names, if that is one of them', async () => {
    const { id, original } = await sentMail('ada@x.example', 'bob@x.example');
    expect(await scene.report(complaint({ original }), FBL)).toBe('recipient-unknown');
    const stranger = complaint({ original, originalRecipient: 'eve@x.example' });
    expect(await scene.report(stranger, FBL)).toBe('recipient-unknown');
    await scene.delivery.db.query('delete from feedback_reports');
    const known = complaint({ original, originalRecipient: 'BOB@x.example' });
    expect(await scene.report(known, FBL)).toBe('spam_report');
    await expectComplaint(id, 'bob@x.example');
  });

  it('is not known by what anyone can write', async () => {
    const id = await scene.delivery.accept({ to: ['ada@x.example'] });
    const path = await scene.returnPathOf(id);
    const forged = path.replace(/.@/, (end) => (end === 'a@' ? 'b@' : 'a@'));
    const original = `From: hello@acme.example\r\nTo: ada@x.example\r\nMessage-ID: <${id}@acme.example>\r\n\r\nHello\r\n`;
    for (const message of [
      complaint({ originalMailFrom: forged, originalRecipient: 'ada@x.example' }),
      complaint({ originalMailFrom: path.replace(/@.*/, '@elsewhere.example') }),
      complaint({ original, originalRecipient: 'ada@x.example' }),
      complaint(),
      HARD_BOUNCE_REPORT,
    ]) {
      expect(await scene.report(message, FBL)).toBe('unidentified');
    }
    expect(await scene.report('Subject: Hello\r\n\r\nWho are you?', `postmaster@${MAIL_HOST}`)).toBe(
      'ignored:not-a-report',
    );
    expect(await scene.reportedEvents(id)).toEqual([]);
    expect(await scene.suppressions()).toEqual([]);
  });

  it('counts once, whichever way it comes', async () => {
    const { id, original, path } = await sentMail();
    expect(await scene.report(complaint({ original }), FBL)).toBe('spam_report');
    expect(await scene.report(complaint({ original, originalMailFrom: path }), FBL)).toBe('duplicate');
    expect(await scene.report(complaint(), path)).toBe('duplicate');
    await expect(scene.reportedEvents(id)).resolves.toEqual(['spam_report']);
  });
});
