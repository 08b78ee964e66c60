import { SmtpSink } from '../../doubles/smtp-sink';
import { ReportScene } from './report-scene';

const MESSAGE = 'From: ada@x.example\r\nSubject: unsubscribe\r\n\r\n\r\n';

describe('mail to an address of List-Unsubscribe', () => {
  let scene: ReportScene;
  let sink: SmtpSink;
  beforeAll(async () => {
    scene = await ReportScene.open();
    sink = await SmtpSink.start();
  });
  afterAll(async () => {
    await scene.close();
    await sink.stop();
  });

  /** A copy as a recipient got it, unfolded. */
  async function sent(fields: Record<string, unknown>): Promise<{ id: string; header: string; address: string }> {
    const id = await scene.delivery.accept({ to: ['ada@x.example'], ...fields });
    const worker = await scene.delivery.startWorker({ hopPort: sink.port });
    await scene.delivery.readWhenStatus(id, 'sent');
    await worker.close();
    const message = sink.messages.findLast(({ content }) => content.includes(id));
    const header = (message?.content.toString('latin1') ?? '').split('\r\n\r\n')[0]?.replace(/\r\n[ \t]+/g, ' ') ?? '';
    return { id, header, address: /<mailto:([^?>]+)\?subject=unsubscribe>/.exec(header)?.[1] ?? '' };
  }

  it('unsubscribes its recipient, once however often it comes and whatever it says', async () => {
    const { id, address } = await sent({ category: 'bulk' });
    expect(address).toMatch(/^u\+[a-z2-7]{55}@mail\.waybill\.test$/);
    expect(await scene.report(MESSAGE, address, 'ada@x.example')).toBe('unsubscribed');
    expect(await scene.report(`X-Again: 1\r\n${MESSAGE}`, address.toUpperCase(), 'ada@x.example')).toBe('duplicate');
    expect(await scene.reportedEvents(id)).toEqual(['unsubscribed']);
    expect(await scene.suppressions()).toMatchObject([{ email: 'ada@x.example', reason: 'unsubscribe' }]);
    // They wanted mail again, and then no more of it.
    await scene.delivery.db.query('delete from suppressions');
    expect(await scene.report(`X-Again: 2\r\n${MESSAGE}`, address, 'ada@x.example')).toBe('unsubscribed');
    expect(await scene.reportedEvents(id)).toEqual(['unsubscribed']);
    expect(await scene.suppressions()).toMatchObject([{ email: 'ada@x.example', reason: 'unsubscribe' }]);
  });

  it('is refused when the address is not ours, and a return path unsubscribes no recipient', async () => {
    const { id, address } = await sent({ to: ['bob@x.example'], category: 'bulk' });
    const forged = address.replace(/^u\+./, (start) => `u+${start.endsWith('a') ? 'b' : 'a'}`);
    expect(await scene.post(MESSAGE, forged)).toMatch(/^550 5\.1\.1/);
    const path = await scene.returnPathOf(id);
    expect(await scene.post(MESSAGE, path.replace(/^b\+/, 'u+'))).toMatch(/^550 5\.1\.1/);
    expect(await scene.report(`X-Waybill-Unsubscribe: yes\r\n${MESSAGE}`, path)).not.toBe('unsubscribed');
    expect(await scene.reportedEvents(id)).toEqual([]);
  });

  it('is offered in bulk mail only', async () => {
    expect((await sent({ category: 'transactional' })).header).not.toContain('List-Unsubscribe');
  });

  it.each<[string, Record<string, unknown>, RegExp]>([
    [
      'the first tag, the domain, the category and the organization',
      { tags: ['spring', 'b'] },
      /^Feedback-ID: spring:acme\.example:transactional:wb\d{6,}$/m,
    ],
    ['no tag that could be an address', { tags: ['ada@x.example'] }, /^Feedback-ID: none:acme\.example:/m],
  ])('a Feedback-ID names %s', async (_name, fields, line) => {
    const { header } = await sent(fields);
    expect(header.match(/^Feedback-ID:/gm)).toHaveLength(1);
    expect(header).toMatch(line);
    expect(/^DKIM-Signature:.*h=[^;]*Feedback-ID/im.test(header.replace(/: ?/g, ':').replace(/ /g, ''))).toBe(true);
  });
});
