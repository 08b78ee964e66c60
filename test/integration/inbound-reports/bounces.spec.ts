import { OrganizationsService } from '../../../src/auth/organizations/organizations.service';
import { DAY } from '../../../src/common/clock';
import { readCounters } from '../../factories/stored-email';
import {
  complaint,
  HARD_BOUNCE_REPORT,
  SOFT_BOUNCE_REPORT,
  statusNotification,
  SUCCESS_REPORT,
} from '../../factories/report-messages';
import type { Report } from '../../../src/modules/inbound-reports/parsing/report';
import { expectedReports, readCorpus } from '../../corpus/reports-corpus';
import { ReportScene } from './report-scene';

/** Most of one email. */
const RECIPIENTS = 50;

describe('a report to a return path', () => {
  let scene: ReportScene;
  let before: Record<string, number>;
  beforeAll(async () => {
    scene = await ReportScene.open();
  });
  beforeEach(async () => {
    before = await counters();
  });
  afterEach(() => scene.delivery.db.query('delete from inbound_reports; delete from suppressions'));
  afterAll(() => scene.close());

  const counters = () => readCounters(scene.delivery.db, scene.delivery.tenant.organizationId);

  /** How much a counter has grown in this test. */
  async function grown(name: string): Promise<number> {
    return ((await counters())[name] ?? 0) - (before[name] ?? 0);
  }

  /** A mail that a relay has taken, and its return path. */
  async function sentMail(...to: string[]): Promise<{ id: string; path: string }> {
    const id = await scene.delivery.accept({ to: to.length > 0 ? to : ['ada@x.example'] });
    await scene.tell(id, { kind: 'sent', smtp: { response: '250 OK' } });
    return { id, path: await scene.returnPathOf(id) };
  }

  it('does to its recipient what it says, for every system and language of the corpus', async () => {
    const expected = Object.entries(expectedReports() as Record<string, Report>);
    const bounces = expected.flatMap(([name, report]) => (report.kind === 'bounce' ? [{ name, report }] : []));
    const found: object[] = [];
    for (let from = 0; from < bounces.length; from += RECIPIENTS) {
      const part = bounces.slice(from, from + RECIPIENTS);
      const { id } = await sentMail(...part.map((_, position) => `r${position}@x.example`));
      for (const [position, { name }] of part.entries()) {
        if (position > 0) await scene.tell(id, { kind: 'sent' }, position);
        expect(await scene.post(readCorpus(name), await scene.returnPathOf(id, { position }))).toMatch(/^250 /);
      }
      await scene.workOff();
      const { events } = await scene.delivery.read(id);
      const suppressed = new Set((await scene.suppressions()).map(({ email }) => email));
      for (const [position, { name }] of part.entries()) {
        const recipient = `r${position}@x.example`;
        const { data } = events.findLast((event) => event.source === 'dsn' && event.data.recipient === recipient) ?? {};
        const { bounceType, reason, ruleId } = { ...data };
        found.push({ name, bounceType, reason, ruleId, suppress: suppressed.has(recipient) });
      }
      await scene.delivery.db.query('delete from suppressions; delete from soft_bounces');
    }
    expect(found).toEqual(
      bounces.map(({ name, report: { bounceType, reason, ruleId, suppress } }) => ({
        ...{ name, bounceType, reason, ruleId, suppress },
      })),
    );
  });

  it('of a failure is a hard bounce of our recipient, whichever it names', async () => {
    const { id, path } = await sentMail();
    expect(await scene.report(HARD_BOUNCE_REPORT, path)).toBe('hard_bounce');
    const { email, recipients, events } = await scene.delivery.read(id);
    expect(email.status).toBe('bounced');
    expect(recipients[0]).toMatchObject({ status: 'bounced', last_response: expect.stringContaining('No such user') });
    expect(events.at(-1)).toMatchObject({
      event_type: 'hard_bounce',
      source: 'dsn',
      data: { recipient: 'ada@x.example', bounceType: 'hard', code: 550, enhancedCode: '5.1.1' },
    });
    expect(await scene.suppressions()).toEqual([
      { email: 'ada@x.example', reason: 'hard_bounce', source: 'automatic' },
    ]);
    expect(await grown('bounced')).toBe(1);
  });

  it('of a member of an alias lists nobody, however often it comes', async () => {
    const report = statusNotification({ originalRecipient: 'Ada@x.example' });
    for (let round = 0; round < 4; round += 1) {
      const { id, path } = await sentMail();
      expect(await scene.report(report.replace('About', `${round} About`), path)).toBe('soft_bounce');
      const { events } = await scene.delivery.read(id);
      expect(events.at(-1)).toMatchObject({ event_type: 'soft_bounce', data: { reason: 'member-failed' } });
    }
    expect(await scene.suppressions()).toEqual([]);
  });

  it.each(['dsn-exim-forwarded', 'exim-plain-forwarded', 'dsn-sendmail-forwarded'])(
    'of a member in the form of %s lists nobody',
    async (name) => {
      const { path } = await sentMail();
      const report = readCorpus(name).toString('latin1').replaceAll('ann@example.org', 'ada@x.example');
      expect(await scene.report(report, path)).toBe('soft_bounce');
      expect(await scene.suppressions()).toEqual([]);
    },
  );

  it('is a bounce however large the mail is that it returns', async () => {
    const { id, path } = await sentMail();
    const returned = `Content-Type: message/rfc822\r\n\r\n${`${'A'.repeat(76)}\r\n`.repeat(60_000)}`;
    const report = HARD_BOUNCE_REPORT.replace('--=_report--', `--=_report\r\n${returned}--=_report--`);
    expect(report.length).toBeGreaterThan(4_000_000);
    expect(await scene.report(report, path)).toBe('hard_bounce');
    expect((await scene.delivery.read(id)).email.status).toBe('bounced');
    expect(await scene.suppressions()).toMatchObject([{ email: 'ada@x.example', reason: 'hard_bounce' }]);
  });

  it('concerns the recipient that its address names, of several', async () => {
    const { id } = await sentMail('ada@x.example', 'bob@x.example');
    const path = await scene.returnPathOf(id, { position: 1 });
    await scene.report(statusNotification({ finalRecipient: 'ada@x.example' }), path);
    expect((await scene.delivery.read(id)).recipients.map(({ status }) => status)).toEqual(['sent', 'bounced']);
    expect((await scene.suppressions()).map(({ email }) => email)).toEqual(['bob@x.example']);
  });

  it('of a full mailbox is a soft bounce, and three of them list the address', async () => {
    for (const round of [1, 2, 3]) {
      expect(await scene.suppressions()).toEqual([]);
      const { id, path } = await sentMail();
      expect(await scene.report(SOFT_BOUNCE_REPORT, path)).toBe('soft_bounce');
      expect(await scene.reportedEvents(id)).toEqual(['soft_bounce']);
      expect(await grown('bounced')).toBe(round);
    }
    expect(await scene.suppressions()).toMatchObject([{ email: 'ada@x.example', reason: 'soft_bounce' }]);
  });

  it('of success makes a mail delivered, and a bounce that comes later makes it bounced', async () => {
    const { id, path } = await sentMail();
    expect((await scene.delivery.read(id)).email.status).toBe('sent');
    expect(await scene.report(SUCCESS_REPORT, path)).toBe('delivered');
    expect((await scene.delivery.read(id)).email.status).toBe('delivered');
    expect(await scene.report(HARD_BOUNCE_REPORT, path)).toBe('hard_bounce');
    expect((await scene.delivery.read(id)).email.status).toBe('bounced');
    expect(await scene.reportedEvents(id)).toEqual(['delivered', 'hard_bounce']);
    expect(await grown('delivered')).toBe(1);
  });

  it('of a complaint lists the address, and changes no status', async () => {
    const { id, path } = await sentMail();
    expect(await scene.report(complaint(), path)).toBe('spam_report');
    const { email, events } = await scene.delivery.read(id);
    expect(email.status).toBe('sent');
    expect(events.at(-1)).toMatchObject({
      event_type: 'spam_report',
      source: 'feedback_loop',
      data: { recipient: 'ada@x.example', feedbackType: 'abuse', reportingSystem: 'Loop/1.0' },
    });
    expect(await scene.suppressions()).toMatchObject([{ email: 'ada@x.example', reason: 'spam_complaint' }]);
    expect(await grown('complaints')).toBe(1);
  });

  it.each<[string, string]>([
    ['delayed', statusNotification({ action: 'delayed', status: '4.4.1', diagnostic: '421 later' })],
    ['ignored:auto-reply', 'From: a@x.example\r\nSubject: Out of office\r\nAuto-Submitted: auto-replied\r\n\r\nAway.'],
    ['ignored:not-a-report', 'From: a@x.example\r\nSubject: Hello\r\n\r\nHow are you?'],
    ['ignored:loop', `${'Received: from a by b; now\r\n'.repeat(60)}Subject: x\r\n\r\nx`],
  ])('that is %s leads to nothing', async (disposition, message) => {
    const { id, path } = await sentMail();
    expect(await scene.report(message, path)).toBe(disposition);
    expect(await scene.reportedEvents(id)).toEqual([]);
    expect(await scene.suppressions()).toEqual([]);
  });

  it('counts once when it comes twice, in the same or in other words', async () => {
    const { id, path } = await sentMail();
    expect(await scene.report(SOFT_BOUNCE_REPORT, path)).toBe('soft_bounce');
    await scene.report(SOFT_BOUNCE_REPORT, path);
    expect(await scene.delivery.db.query('select 1 from inbound_reports')).toHaveLength(1);
    expect(await scene.report(`X-Again: yes\r\n${SOFT_BOUNCE_REPORT}`, path)).toBe('duplicate');
    expect(await scene.reportedEvents(id)).toEqual(['soft_bounce']);
    expect(await grown('bounced')).toBe(1);
  });

  it('still lists the address when only the second bounce shows that it is bad', async () => {
    const { id, path } = await sentMail('zoe@x.example');
    await scene.report(SOFT_BOUNCE_REPORT, path);
    expect(await scene.report(HARD_BOUNCE_REPORT, path)).toBe('hard_bounce');
    expect(await scene.suppressions()).toMatchObject([{ email: 'zoe@x.example', reason: 'hard_bounce' }]);
    expect(await grown('bounced')).toBe(1);
    expect(await scene.reportedEvents(id)).toEqual(['soft_bounce', 'hard_bounce']);
  });

  it('on a mail or a recipient that is gone or another’s leads to nothing', async () => {
    const { id } = await sentMail();
    const unknown = await scene.returnPathOf('0192f3a0-1111-7abc-8def-0123456789ab');
    const noRecipient = await scene.returnPathOf(id, { position: 7 });
    const otherMode = await scene.returnPathOf(id, { mode: 'test' });
    const { id: other } = await scene.delivery.core.get(OrganizationsService).create('Other');
    const { ordinal } = await scene.delivery.core.get(OrganizationsService).get(other);
    const otherOwner = await scene.returnPathOf(id, { organizationOrdinal: ordinal });
    for (const path of [unknown, noRecipient, otherMode, otherOwner]) {
      expect(await scene.report(HARD_BOUNCE_REPORT, path)).toBe('unknown-email');
    }
    expect(await scene.suppressions()).toEqual([]);
  });

  it('is refused at a forged, an altered, and an expired address, and at another host', async () => {
    const { path } = await sentMail();
    const at = path.indexOf('@') - 20;
    const flipped = path.slice(0, at) + (path[at] === 'a' ? 'b' : 'a') + path.slice(at + 1);
    expect(await scene.post(HARD_BOUNCE_REPORT, flipped)).toMatch(/^550 5\.1\.1 /);
    expect(await scene.post(HARD_BOUNCE_REPORT, path.replace(/@.*/, '@x.example'))).toMatch(/^550 5\.7\.1 /);
    const expiring = await scene.returnPathOf('0192f3a0-1111-7abc-8def-0123456789ab');
    scene.clock.advance(36 * DAY);
    expect(await scene.post(HARD_BOUNCE_REPORT, expiring)).toMatch(/^550 5\.1\.1 /);
    expect(await scene.delivery.db.query('select 1 from inbound_reports')).toEqual([]);
  });
});
