import { newId } from '../../../src/common/ids';
import { PREVIOUS_KEY, TrackingScene } from './tracking-scene';

const URL = 'https://shop.example/a?b=c&d=%20%0D%0A#e';

describe('what a tracked mail gets', () => {
  let app: TrackingScene;
  let id: string;
  beforeAll(async () => {
    app = await TrackingScene.start();
    id = await app.scene.accept({ to: ['ann@x.example'] });
  });
  afterAll(() => app.close());

  it('is a pixel that no cache keeps', async () => {
    const { status, headers, body } = await app.fetch(app.pixel(id));
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'content-type': 'image/gif',
      'content-length': '43',
      'cache-control': 'no-store, no-cache, must-revalidate, private, max-age=0',
      'cross-origin-resource-policy': 'cross-origin',
      'x-content-type-options': 'nosniff',
      'x-robots-tag': 'noindex, nofollow',
    });
    expect(body).toHaveLength(43);
    expect(body.toString('latin1')).toMatch(/^GIF89a\x01\0\x01\0[^]*;$/);
  });

  it('is the same pixel whatever has become of the email', async () => {
    const wanted = (await app.fetch(app.pixel(id))).body;
    for (const path of [app.pixel(newId()), app.pixel(id, { position: 9 }), app.pixel(id, { mode: 'test' })]) {
      expect(await app.fetch(path)).toMatchObject({ status: 200, body: wanted });
    }
  });

  it('is exactly the target of the original link', async () => {
    const urls = [
      URL,
      'http://shop.example',
      'HTTPS://Shop.Example/%C3%A9/%zz?q="<>|\\^`{}',
      `https://shop.example/?${'x'.repeat(1_978)}`,
    ];
    for (const url of urls) {
      const { status, headers } = await app.fetch(app.link(id, url));
      expect({ status, location: headers.location }).toEqual({ status: 302, location: url });
      expect(headers).toMatchObject({
        'cache-control': 'no-store, no-cache, must-revalidate, private, max-age=0',
        'referrer-policy': 'no-referrer',
        'x-robots-tag': 'noindex, nofollow',
      });
    }
  });

  it.each(['customer.example', 'click.customer.example:8443'])('is the same at %s', async (host) => {
    expect(await app.fetch(app.pixel(id), { headers: { host } })).toMatchObject({ status: 200 });
    expect(await app.fetch(app.link(id, URL), { headers: { host } })).toMatchObject({ headers: { location: URL } });
  });

  it('is the same by HEAD, without a body', async () => {
    const pixel = await app.fetch(app.pixel(id), { method: 'HEAD' });
    expect(pixel).toMatchObject({ status: 200, headers: { 'content-type': 'image/gif' } });
    const click = await app.fetch(app.link(id, URL), { method: 'HEAD' });
    expect(click).toMatchObject({ status: 302, headers: { location: URL } });
    expect(Buffer.concat([pixel.body, click.body])).toHaveLength(0);
  });

  it('works under the previous master key', async () => {
    const masterKey = PREVIOUS_KEY;
    expect(await app.fetch(app.pixel(id, { masterKey }))).toMatchObject({ status: 200 });
    expect(await app.fetch(app.link(id, URL, { masterKey }))).toMatchObject({ headers: { location: URL } });
  });

  it('is nothing for a token of another kind or make', async () => {
    const [pixel, link] = [app.pixel(id).slice(5), app.link(id, URL).slice(5)];
    const bytes = Buffer.from(link, 'base64url');
    const elsewhere = Buffer.concat([bytes.subarray(0, 26), Buffer.from('https://evil.example/'), bytes.subarray(-16)]);
    const masterKey = Buffer.alloc(32, 8);
    const bad = ['x', 'A'.repeat(56), 'A'.repeat(2_900), pixel.slice(1), `${link}A`, elsewhere.toString('base64url')];
    const paths = [
      ...bad.flatMap((token) => [`/t/o/${token}`, `/t/c/${token}`]),
      `/t/o/${link}`,
      `/t/c/${pixel}`,
      `/u/${pixel}`,
      app.pixel(id, { masterKey }),
      app.link(id, URL, { masterKey }),
    ];
    const before = await app.counted('refused');
    for (const path of paths) {
      for (const method of ['GET', 'HEAD']) {
        const { status, headers } = await app.fetch(path, { method });
        expect({ path, status, location: headers.location }).toEqual({ path, status: 404, location: undefined });
      }
    }
    expect((await app.counted('refused')) - before).toBe(2 * (paths.length - 1));
  });

  it('leads to web pages only', async () => {
    for (const url of [
      'javascript:alert(1)',
      'file:///etc/passwd',
      'data:text/html,x',
      '//evil.example',
      '/v1/emails',
    ]) {
      const { status, headers } = await app.fetch(app.link(id, url));
      expect({ url, status, location: headers.location }).toEqual({ url, status: 404, location: undefined });
    }
  });

  it('shows a page for a broken link, and an error envelope for a broken pixel', async () => {
    const link = await app.fetch('/t/c/x');
    expect(link.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(link.headers['content-security-policy']).toContain("default-src 'none'");
    expect(link.body.toString()).toContain('<h1>This link does not work</h1>');
    const pixel = await app.fetch('/t/o/x');
    expect(JSON.parse(pixel.body.toString()).error).toMatchObject({ code: 'resource_not_found' });
  });

  it('takes no other method', async () => {
    for (const path of [app.pixel(id), app.link(id, URL)]) {
      expect(await app.fetch(path, { method: 'POST' })).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } });
    }
  });
});
