import { Database } from '../../../src/database/pool/database.service';
import { OutcomeRecorder } from '../../../src/modules/emails/outcomes/outcome-recorder.service';
import { InboundReportsService } from '../../../src/modules/inbound-reports/queue/inbound-reports.service';
import { readCounters } from '../../factories/stored-email';
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

  const complaintsCounted = async () =>
    (await readCounters(scene.delivery.db, scene.delivery.tenant.organizationId)).complaints ?? 0;

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

  it('about a mail to several is of the email alone, whomever it names: each of them could have written it', async () => {
    const { id, original } = await sentMail('ada@x.example', 'bob@x.example');
    const before = await complaintsCounted();
    const forged = complaint({ original, originalRecipient: 'BOB@x.example' });
    expect(await scene.report(forged, FBL)).toBe('spam_report');
    const { events, recipients } = await scene.delivery.read(id);
    expect(events.at(-1)).toMatchObject({ event_type: 'spam_report', source: 'feedback_loop' });
    expect(events.at(-1)?.data).toEqual({ feedbackType: 'abuse', reportingSystem: 'Loop/1.0' });
    expect(recipients.map(({ status }) => status)).toEqual(['sent', 'sent']);
    expect(await scene.suppressions()).toEqual([]);
    const { organizationId } = scene.delivery.tenant;
    expect(await scene.delivery.db.query('select organization_id, email_id, position from feedback_reports')).toEqual([
      { organization_id: organizationId, email_id: id, position: null },
    ]);
    expect(await complaintsCounted()).toBe(before + 1);

    const outsider = complaint({ original, originalRecipient: 'eve@x.example' });
    expect(await scene.report(outsider, FBL)).toBe('duplicate');
    expect(await scene.report(complaint({ original }), FBL)).toBe('duplicate');
    expect(await scene.reportedEvents(id)).toEqual(['spam_report']);
    expect(await complaintsCounted()).toBe(before + 1);
  });

  it('counts once of an email without a recipient, also when two workers have read it', async () => {
    const { id } = await sentMail('ada@x.example', 'bob@x.example');
    const key = { organizationId: scene.delivery.tenant.organizationId, mode: 'live' as const, emailId: id };
    const found = { ...key, occurredAt: scene.clock.now(), data: { feedbackType: 'abuse' } };
    await Promise.all(
      [1, 2].map(() =>
        scene.worker.get(Database).transaction((tx) => scene.worker.get(OutcomeRecorder).recordComplaint(found, tx)),
      ),
    );
    expect(await scene.reportedEvents(id)).toEqual(['spam_report']);
  });

  it('is of the copy whose signed token it shows, whatever the rest of it says', async () => {
    const { id, original } = await sentMail('ada@x.example', 'bob@x.example');
    const path = await scene.returnPathOf(id, { position: 1 });
    const forged = complaint({ original, originalMailFrom: path, originalRecipient: 'ada@x.example' });
    expect(await scene.report(forged, FBL)).toBe('spam_report');
    await expectComplaint(id, 'bob@x.example');
  });

  it('is known by the unsubscribe link of the copy that it attaches, be it only the header', async () => {
    const id = await scene.delivery.accept({ to: ['ada@x.example', 'bob@x.example'], category: 'bulk' });
    const worker = await scene.delivery.startWorker({ hopPort: sink.port });
    await scene.delivery.readWhenStatus(id, 'sent');
    await worker.close();
    const copy = sink.messages.find(({ content, recipients }) => {
      return content.includes(id) && recipients.includes('bob@x.example');
    });
    const header = copy!.content.toString('latin1').split('\r\n\r\n')[0]!;
    const foreign = header.replace(/\/u\/[\w-]+/, (link) => `${link.slice(0, -1)}${link.endsWith('A') ? 'B' : 'A'}`);
    expect(await scene.report(complaint({ original: `${foreign}\r\n\r\n` }), FBL)).toBe('unidentified');
    await scene.delivery.db.query('delete from feedback_reports');
    const shown = complaint({ original: `${header}\r\n\r\n`, originalRecipient: 'ada@x.example' });
    expect(await scene.report(shown, FBL)).toBe('spam_report');
    await expectComplaint(id, 'bob@x.example');
  });

  it('of an email goes when any of its recipients is erased', async () => {
    const { id, original } = await sentMail('ada@x.example', 'bob@x.example');
    expect(await scene.report(complaint({ original }), `abuse@${MAIL_HOST}`)).toBe('spam_report');
    const { organizationId } = scene.delivery.tenant;
    const erased = [{ organizationId, mode: 'live' as const, emailId: id, position: 0 }];
    await scene.worker.get(Database).transaction((tx) => scene.worker.get(InboundReportsService).erase(erased, tx));
    expect(await scene.delivery.db.query('select 1 from feedback_reports')).toEqual([]);
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
    // The operator has taken the address off the list.
    await scene.delivery.db.query('delete from suppressions');
    expect(await scene.report(`X-Again: yes\r\n${complaint()}`, path)).toBe('spam_report');
    expect(await scene.suppressions()).toMatchObject([{ reason: 'spam_complaint' }]);
    await expect(scene.reportedEvents(id)).resolves.toEqual(['spam_report']);
  });
});
