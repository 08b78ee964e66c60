import { TcpProxy } from '../../doubles/tcp-proxy';
import { TrackingScene } from './tracking-scene';

describe('while the database is away', () => {
  let proxy: TcpProxy;
  let app: TrackingScene;
  beforeAll(async () => {
    app = await TrackingScene.start(async (databaseUrl) => {
      const front = await TcpProxy.before(databaseUrl);
      proxy = front.proxy;
      return front.url;
    });
  });
  afterAll(async () => {
    await app.close();
    await proxy.stop();
  });

  it('pixels and links respond as usual, and are recorded when it is back', async () => {
    const id = await app.scene.accept({ to: ['ann@x.example'] });
    proxy.cut();
    const pixel = app.fetch(app.pixel(id));
    const link = app.fetch(app.link(id, 'https://shop.example/'));
    expect(await pixel).toMatchObject({ status: 200 });
    expect(await link).toMatchObject({ status: 302, headers: { location: 'https://shop.example/' } });
    expect(await app.fetch('/t/c/x')).toMatchObject({ status: 404 });
    app.clock.advance(60_000);
    proxy.restore();
    await app.settle();
    expect((await app.events(id)).map(({ eventType }) => eventType)).toEqual(['opened', 'clicked']);
    expect(await app.counters()).toMatchObject({ opens: 1, clicks: 1 });
  });

  it('waiting hits are written before the process ends', async () => {
    const id = await app.scene.accept({ to: ['bob@x.example'] });
    await app.fetch(app.pixel(id));
    await app.api.close();
    const { events } = await app.scene.read(id);
    expect(events.map(({ event_type }) => event_type)).toEqual(['queued', 'opened']);
  });
});
