import { SECOND } from '../../../src/common/clock';
import { newId } from '../../../src/common/ids';
import { startApi } from '../../setup/api-context';
import { BROWSER, TrackingScene } from './tracking-scene';

const URL = 'https://shop.example/a?b=c';

describe('opens and clicks', () => {
  let app: TrackingScene;
  beforeAll(async () => {
    app = await TrackingScene.start();
  });
  afterAll(() => app.close());

  const accept = (...to: string[]) => app.scene.accept({ to });
  /** What the counters have gained since. */
  const gained = async (before: Record<string, number>) => {
    const { opens = 0, clicks = 0 } = await app.counters();
    return { opens: opens - (before.opens ?? 0), clicks: clicks - (before.clicks ?? 0) };
  };

  it('are events with the recipient, the client and the target, and count', async () => {
    const before = await app.counters();
    const id = await accept('ann@x.example', 'bob@x.example');
    const agent = `${BROWSER} \x80${'x'.repeat(300)}`;
    await app.fetch(app.pixel(id, { position: 1 }), { headers: { 'user-agent': agent } });
    await app.fetch(app.link(id, URL, { position: 1 }), { address: '2001:db8:7:8:9::1, 10.0.0.1' });
    const at = app.clock.now().toISOString();
    await app.settle();
    const recipient = 'bob@x.example';
    const userAgent = `${BROWSER} ?${'x'.repeat(300)}`.slice(0, 256);
    expect(await app.events(id)).toMatchObject([
      { eventType: 'opened', timestamp: at, eventData: { recipient, userAgent, ip: '203.0.113.0' } },
      {
        eventType: 'clicked',
        timestamp: at,
        eventData: { recipient, userAgent: BROWSER, ip: '2001:db8:7::', url: URL },
      },
    ]);
    expect(JSON.stringify(await app.events(id))).not.toMatch(/automated|203\.0\.113\.77|:8:9/);
    expect(await gained(before)).toEqual({ opens: 1, clicks: 1 });
  });

  it('count once for each recipient, however many come at once', async () => {
    const before = await app.counters();
    const id = await accept('ann@x.example', 'bob@x.example');
    const many = Array.from({ length: 100 }, () => app.fetch(app.pixel(id)));
    const statuses = new Set((await Promise.all(many)).map(({ status }) => status));
    expect([...statuses]).toEqual([200]);
    await app.fetch(app.pixel(id, { position: 1 }));
    await app.settle();
    expect(await app.events(id)).toHaveLength(2);
    expect(await gained(before)).toEqual({ opens: 2, clicks: 0 });
    expect((await app.scene.read(id)).email).toMatchObject({ open_count: 2 });
  });

  it('count once for each recipient, whatever process takes them', async () => {
    const before = await app.counters();
    const id = await accept('ann@x.example');
    const others = await Promise.all(
      [1, 2].map(() => startApi(app.scene.db.url, { clock: app.clock, env: { TRUST_PROXY: 'true' } })),
    );
    const headers = { 'user-agent': BROWSER };
    for (const { port } of others) await fetch(`http://127.0.0.1:${port}${app.pixel(id)}`, { headers });
    await Promise.all(others.map((api) => api.close()));
    expect(await app.events(id)).toHaveLength(2);
    expect(await gained(before)).toEqual({ opens: 1, clicks: 0 });
  });

  it('are reported again after ten seconds, and not counted again', async () => {
    const before = await app.counters();
    const id = await accept('ann@x.example');
    for (const waitMs of [0, 9 * SECOND, SECOND]) {
      app.clock.advance(waitMs);
      await app.fetch(app.link(id, URL));
    }
    await app.settle();
    expect(await app.events(id)).toHaveLength(2);
    expect((await app.scene.read(id)).email).toMatchObject({ open_count: 0, click_count: 2 });
    expect(await gained(before)).toEqual({ opens: 0, clicks: 1 });
  });

  it('do not change the status of the email and of its recipients', async () => {
    const id = await accept('ann@x.example');
    const before = await app.scene.read(id);
    await app.fetch(app.pixel(id));
    await app.settle();
    const after = await app.scene.read(id);
    expect(after.email).toMatchObject({ status: before.email.status, sent_at: null, delivered_at: null });
    expect(after.recipients).toMatchObject(before.recipients.map(({ status, attempts }) => ({ status, attempts })));
  });

  it('of mail that is no longer there, or was never written to such a recipient, are nothing', async () => {
    const id = await accept('ann@x.example');
    const gone = await app.counted('gone');
    for (const path of [app.pixel(newId()), app.pixel(id, { position: 1 }), app.pixel(id, { mode: 'test' })]) {
      expect(await app.fetch(path)).toMatchObject({ status: 200 });
    }
    await app.settle();
    expect((await app.counted('gone')) - gone).toBe(3);
    expect(await app.events(id)).toEqual([]);
  });

  it('come by the address of the connected client, unless a proxy is trusted', async () => {
    const id = await accept('ann@x.example');
    const direct = await startApi(app.scene.db.url, { clock: app.clock });
    const headers = { 'user-agent': BROWSER, 'x-forwarded-for': '203.0.113.77' };
    await fetch(`http://127.0.0.1:${direct.port}${app.pixel(id)}`, { headers });
    await direct.close();
    expect(await app.events(id)).toMatchObject([{ eventData: { ip: '127.0.0.0' } }]);
  });
});
