import { HOUR, SECOND } from '../../../src/common/clock';
import { StatsCheckService } from '../../../src/modules/emails/outcomes/stats-check.service';
import { AGENT_RULES } from '../../../src/modules/tracking/automation';
import { StatsService } from '../../../src/modules/stats/stats.service';
import { TrackingScene, type Visitor } from './tracking-scene';

const LINKS = ['a', 'b', 'c', 'd'].map((name) => `https://shop.example/${name}`);

describe('automatic fetches', () => {
  let app: TrackingScene;
  beforeAll(async () => {
    app = await TrackingScene.start();
  });
  afterAll(() => app.close());

  const accept = () => app.scene.accept({ to: ['ann@x.example'] });
  const click = (id: string, url = LINKS[0]!, visitor: Visitor = {}) => app.fetch(app.link(id, url), visitor);
  /** Why each event was automated; undefined for a person's. */
  const reasons = async (id: string) => {
    const events = await app.events(id);
    for (const { eventData } of events) expect(eventData.automated).toBe(eventData.automatedReason && true);
    return events.map(({ eventData }) => eventData.automatedReason as string | undefined);
  };
  const opensAndClicks = ({ opens, clicks }: Record<string, number>) => [opens, clicks];
  const counts = async (id: string) => {
    const { email } = await app.scene.read(id);
    return [email.open_count, email.click_count];
  };

  it.each<[string, Visitor]>([
    ['head-request', { method: 'HEAD' }],
    ['prefetch', { headers: { 'sec-purpose': 'prefetch;prerender' } }],
    ['prefetch', { headers: { purpose: 'prefetch' } }],
    ['no-user-agent', { headers: { 'user-agent': '' } }],
    ['crawler', { headers: { 'user-agent': 'python-requests/2.31.0' } }],
    ['privacy-proxy', { headers: { 'user-agent': 'Mozilla/5.0' } }],
    ['security-scanner', { headers: { 'user-agent': 'Barracuda Sentinel (EE)' } }],
    ['security-scanner', { address: '64.235.150.9' }],
  ])('is reported as %s and not counted: %j', async (reason, visitor) => {
    const before = await app.counters();
    const id = await accept();
    expect(await app.fetch(app.pixel(id), visitor)).toMatchObject({ status: 200 });
    expect(await click(id, LINKS[0], visitor)).toMatchObject({ status: 302 });
    await app.settle();
    expect(await reasons(id)).toEqual([reason, reason]);
    expect(await counts(id)).toEqual([0, 0]);
    expect((await app.scene.read(id)).recipients).toMatchObject([{ seen: 0 }]);
    expect(opensAndClicks(await app.counters())).toEqual(opensAndClicks(before));
  });

  it('does not hide the person who comes after it, even at once', async () => {
    const id = await accept();
    await click(id, LINKS[0], { method: 'HEAD' });
    await click(id);
    await app.settle();
    expect(await reasons(id)).toEqual(['head-request', undefined]);
    expect(await counts(id)).toEqual([0, 1]);
  });

  it('is not what a person does on this machine to try it out, with any program and at once', async () => {
    const id = await accept();
    await app.scene.db.query('update emails set sent_at = $2 where id = $1', [id, app.clock.now()]);
    const local: Visitor = { address: null, headers: { 'user-agent': 'curl/8.5.0' } };
    await app.fetch(app.pixel(id), { ...local, headers: { 'user-agent': '' } });
    for (const url of LINKS) await click(id, url, local);
    await app.settle();
    expect(await reasons(id)).toEqual(Array.from({ length: 5 }));
    expect(await counts(id)).toEqual([1, 4]);
    const head = await accept();
    await click(head, LINKS[0], { ...local, method: 'HEAD' });
    await app.settle();
    expect(await reasons(head)).toEqual(['head-request']);
  });

  it('is not what an image proxy fetches for a person who opens the mail', async () => {
    for (const { example, proxy } of AGENT_RULES.filter((rule) => rule.proxy)) {
      const id = await accept();
      await app.fetch(app.pixel(id), { headers: { 'user-agent': example } });
      await app.settle();
      expect(await app.events(id)).toMatchObject([{ eventData: { proxy } }]);
      expect(await counts(id)).toEqual([1, 0]);
    }
  });

  it('is many links at once, those before it was clear too', async () => {
    const id = await accept();
    for (const [index, url] of LINKS.entries()) {
      app.clock.advance(index === 3 ? 5 * SECOND : 900);
      await click(id, url);
    }
    await app.settle();
    expect(await reasons(id)).toEqual(['many-links', 'many-links', 'many-links', undefined]);
    // The same link, sooner than a repetition would be told.
    await click(id, LINKS[2]);
    await app.settle();
    expect((await reasons(id)).at(-1)).toBeUndefined();
    expect(await counts(id)).toEqual([0, 2]);
  });

  it('is not one link of each of many recipients', async () => {
    const id = await app.scene.accept({ to: ['ann@x.example', 'bob@x.example', 'eve@x.example'] });
    for (const position of [0, 1, 2]) await app.fetch(app.link(id, LINKS[position]!, { position }));
    await app.settle();
    expect(await reasons(id)).toEqual([undefined, undefined, undefined]);
  });

  it('is a click faster than a person reads, and an open before the mail was accepted', async () => {
    const id = await accept();
    const sentAfter = (ms: number) =>
      app.scene.db.query('update emails set sent_at = $2 where id = $1', [
        id,
        new Date(app.clock.now().getTime() + ms),
      ]);
    await sentAfter(1);
    await app.fetch(app.pixel(id));
    await app.settle();
    await sentAfter(-1_999);
    await click(id);
    await app.settle();
    await sentAfter(-2_000);
    await click(id);
    await app.settle();
    await sentAfter(0);
    await app.fetch(app.pixel(id));
    await app.settle();
    expect(await reasons(id)).toEqual(['at-delivery', 'at-delivery', undefined, undefined]);
    expect(await counts(id)).toEqual([1, 1]);
  });

  it('differs from the statistics in no counter', async () => {
    const worker = await app.scene.startWorker({ hopPort: 9, isRunning: false });
    await worker.get(StatsService).fold();
    const hour = Math.floor(app.clock.now().getTime() / HOUR) * HOUR;
    const period = { from: new Date(hour - HOUR), to: new Date(hour + HOUR) };
    const { compared, drifts } = await worker.get(StatsCheckService).check(period);
    expect(compared).toBeGreaterThanOrEqual(2);
    expect(drifts).toEqual([]);
    expect(await app.counters()).toMatchObject({ opens: 4, clicks: 7 });
  });
});
