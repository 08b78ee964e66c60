import { startApi } from '../../../setup/api-context';
import { newId } from '../../../../src/common/ids';
import { PREVIOUS_KEY, UnsubscribeScene } from './unsubscribe-scene';

const KIB = 1024;
const form = new FormData();
form.set('List-Unsubscribe', 'One-Click');

describe('the unsubscribe link', () => {
  let app: UnsubscribeScene;
  let emailId: string;
  let link: string;
  beforeAll(async () => {
    app = await UnsubscribeScene.start();
    emailId = await app.scene.accept({ to: ['ann@x.example'], category: 'bulk' });
    await app.scene.readWhenStatus(emailId, 'delivered');
    link = await app.linkTo(emailId);
  });
  afterEach(async () => {
    await app.scene.db.query('delete from suppressions');
  });
  afterAll(() => app.close());

  it('shows a page that runs and loads nothing, reveals little and is not indexed', async () => {
    const response = await app.call('GET', link);
    const page = await response.text();
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': expect.stringMatching(
        /^default-src 'none'; style-src 'sha256-[\w+/=]+'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'$/,
      ),
      'referrer-policy': 'no-referrer',
      'x-robots-tag': 'noindex, nofollow',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    });
    expect(page).toContain('a***@x.example');
    expect(page).toContain('acme.example');
    expect(page).not.toContain('ann@x.example');
    expect(page).toContain('<form method="post" action="?via=page">');
  });

  it.each(['GET', 'HEAD'])('changes nothing by %s, however often and by whomever', async (method) => {
    const before = await app.written(emailId);
    const prefetch = { headers: { 'sec-purpose': 'prefetch', 'user-agent': 'LinkScanner/1.0' } };
    for (const init of [{}, prefetch, {}]) expect((await app.call(method, `${link}?via=page`, init)).status).toBe(200);
    expect(await app.written(emailId)).toEqual(before);
  });

  it.each<[string, RequestInit]>([
    ['no body', {}],
    ['a form', { body: new URLSearchParams({ 'List-Unsubscribe': 'One-Click' }) }],
    ['a form in parts', { body: form }],
    ['another type', { body: '{', headers: { 'content-type': 'application/json' } }],
    ['a stale key', { headers: { authorization: 'Bearer wb_live_x' } }],
  ])('unsubscribes by POST with %s', async (_name, init) => {
    const response = await app.call('POST', link, init);
    expect(response.status).toBe(200);
    expect(await response.text()).toContain('<h1>Unsubscribed</h1>');
    expect(await app.suppressions()).toMatchObject([{ email: 'ann@x.example', reason: 'unsubscribe' }]);
  });

  it('counts once, however often and however fast it is clicked', async () => {
    const { id } = await app.sendBulk(['bob@x.example', 'eve@x.example']);
    const own = await app.linkTo(id, { position: 1 });
    const responses = await Promise.all(Array.from({ length: 5 }, () => app.call('POST', `${own}?via=page`)));
    const pages = await Promise.all(responses.map((response) => response.text()));
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect(new Set(pages).size).toBe(1);
    expect(await app.unsubscriptions(id)).toEqual([{ source: 'tracking', recipient: 'eve@x.example', method: 'page' }]);
    expect(await app.suppressions()).toMatchObject([{ email: 'eve@x.example' }]);
  });

  it('writes nothing when it is repeated', async () => {
    expect((await app.call('POST', link)).status).toBe(200);
    const before = await app.written(emailId);
    for (const path of [link, `${link}?via=page`]) expect((await app.call('POST', path)).status).toBe(200);
    expect(await app.written(emailId)).toEqual(before);
  });

  it('is limited per client address, which a client cannot make up', async () => {
    const env = { RATE_LIMITS: '{"unsubscribe":3}', TRUST_PROXY: '127.0.0.1' };
    const limited = await startApi(app.scene.db.url, { env });
    const post = (forwarded: string) =>
      fetch(`http://127.0.0.1:${limited.port}${link}`, { method: 'POST', headers: { 'x-forwarded-for': forwarded } });
    try {
      const answers = await Promise.all([1, 2, 3, 4].map((other) => post(`198.51.100.${other}, 203.0.113.5`)));
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 429]);
      const refused = await post('203.0.113.5');
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, expect.stringMatching(/^\d+$/)]);
      expect(await refused.text()).toContain('Please try again in a few minutes');
      expect((await post('203.0.113.6')).status).toBe(200);
    } finally {
      await limited.close();
    }
  });

  it('returns a page with 404 for foreign tokens and deleted emails', async () => {
    const token = link.slice('/u/'.length);
    const forged = [
      '/u/x',
      `/u/${token.slice(0, -1)}`,
      `/u/${token}A`,
      `/u/${token.startsWith('A') ? 'B' : 'A'}${token.slice(1)}`,
      `/u/${'A'.repeat(700)}`,
      await app.linkTo(newId()),
      await app.linkTo(emailId, { position: 1 }),
      await app.linkTo(emailId, { ordinal: 2_000_000_000 }),
      await app.linkTo(emailId, { ordinal: 4_000_000_000 }),
      await app.linkTo(emailId, { masterKey: Buffer.alloc(32, 8) }),
    ];
    const before = await app.written(emailId);
    for (const path of forged) {
      for (const method of ['GET', 'POST']) {
        const response = await app.call(method, path);
        expect({ path, status: response.status }).toEqual({ path, status: 404 });
        expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
        expect(await response.text()).toContain('This link does not work');
      }
    }
    expect(await app.written(emailId)).toEqual(before);
  });

  it('works in mail that left under the previous master key', async () => {
    expect((await app.call('POST', await app.linkTo(emailId, { masterKey: PREVIOUS_KEY }))).status).toBe(200);
    expect(await app.suppressions()).toMatchObject([{ email: 'ann@x.example' }]);
  });

  it('takes no other method and no large body', async () => {
    expect((await app.call('PUT', link)).status).toBe(405);
    const large = await app.call('POST', link, { body: 'a'.repeat(65 * KIB) });
    expect(large.status).toBe(413);
    expect(large.headers.get('content-type')).toContain('text/html');
    expect(await app.suppressions()).toEqual([]);
  });
});
