import { TcpProxy } from '../../../doubles/tcp-proxy';
import { UnsubscribeScene } from './unsubscribe-scene';

describe('while the database is away', () => {
  let proxy: TcpProxy;
  let app: UnsubscribeScene;
  beforeAll(async () => {
    app = await UnsubscribeScene.start(async (databaseUrl) => {
      const front = await TcpProxy.before(databaseUrl);
      proxy = front.proxy;
      return front.url;
    });
  });
  afterAll(async () => {
    await app.close();
    await proxy.stop();
  });

  it('a genuine link shows the outage, a forged one is not looked up, and a later click counts', async () => {
    const id = await app.scene.accept({ to: ['ann@x.example'], category: 'bulk' });
    const link = await app.linkTo(id);
    proxy.cut();
    for (const method of ['GET', 'POST']) {
      const response = await app.call(method, link);
      expect(response.status).toBe(503);
      expect(response.headers.get('retry-after')).toBe('1');
      expect(await response.text()).toContain('Please try again in a few minutes');
      expect((await app.call(method, `${link.slice(0, -4)}AAAA`)).status).toBe(404);
    }
    proxy.restore();
    expect((await app.call('POST', link)).status).toBe(200);
    expect(await app.suppressions()).toMatchObject([{ email: 'ann@x.example' }]);
  });
});
