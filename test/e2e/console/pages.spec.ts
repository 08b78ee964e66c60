import { gzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { waitFor } from '../../setup/wait-for';
import { accessibilityProblems, ConsoleScene, describeInBrowser, overflow } from './console-scene';

/** What comes from outside, as bad as it may come. */
const HOSTILE = [
  '<script>window.pwned = 1</script>',
  '"><img src=x onerror="window.pwned = 1">',
  "'-alert(1)-'</title></textarea></iframe><svg onload=window.pwned=1>",
  'javascript:window.pwned=1',
  '{{constructor.constructor("window.pwned=1")()}}${window.pwned=1}',
  '\u202Egpj.exe\u202C \u0007 \u{1F4A9}',
  `${'very-long-'.repeat(60)}word`,
];
/** In tables and heads no longer than a subject may be. */
const SUBJECT = HOSTILE.slice(0, 5).join(' ');
const PAGES = [
  '/',
  '/emails',
  '/events',
  '/statistics',
  '/send',
  '/domains',
  '/suppressions',
  '/webhooks',
  '/keys',
  '/privacy',
  '/nowhere',
];
const MAX_FIRST_SCRIPT = 150 * 1024;

describeInBrowser('every page of the console', () => {
  let scene: ConsoleScene;
  let paths: string[];
  let light: Page;
  beforeAll(async () => {
    scene = await ConsoleScene.start();
    paths = [...PAGES, ...(await hostileData())];
    light = await scene.signedIn();
  });
  afterAll(() => scene.close());

  /** Mail, replies, webhooks and names that somebody else has written; answers the addresses of what has a page of its own. */
  async function hostileData(): Promise<string[]> {
    const api = scene.api();
    const id = await api.send({
      ...{
        from: { email: 'hello@acme.example', name: SUBJECT.slice(0, 200) },
        to: ['ada@example.com'],
        subject: SUBJECT,
      },
      ...{
        html: HOSTILE.join(''),
        text: HOSTILE.join('\n'),
        tags: [HOSTILE[0]?.slice(0, 90)],
        metadata: { evil: HOSTILE[1] },
      },
      headers: { 'X-Evil': HOSTILE[0] },
      attachments: [{ filename: `${HOSTILE[1]?.replaceAll('"', "'")}.pdf`, content: 'aGVsbG8=' }],
    });
    await api.waitForStatus(id, 'delivered');
    const evil = SUBJECT.slice(0, 300);
    const { organizationId } = scene.acme;
    for (const statement of [
      `update organizations set name = $1 where id = '${organizationId}'`,
      `update email_recipients set last_response = $1 where organization_id = '${organizationId}'`,
      `update email_events set data = data || jsonb_build_object('response', $1::text, 'url', $1::text) where organization_id = '${organizationId}'`,
      `update api_keys set name = left($1, 100) where organization_id = '${organizationId}'`,
    ]) {
      await scene.db.query(statement, [evil]);
    }
    await api.post('/v1/suppressions', { email: 'x@x.example', reason: 'manual', notes: evil });
    const webhook = await api.post('/v1/webhooks', {
      url: 'https://hooks.example.com/a',
      events: ['*'],
      description: evil.slice(0, 250),
    });
    await scene.db
      .query(
        `insert into webhook_messages (organization_id, mode, endpoint_id, id, event_type, state, attempts, last_error, created_at, next_attempt_at)
       select organization_id, mode, id, gen_random_uuid(), 'delivered', 'failed', 3, $1, now(), now() from webhook_endpoints`,
        [evil],
      )
      .catch(() => undefined);
    return [
      `/emails/${id}`,
      `/domains/${scene.acme.domainId}`,
      ...(webhook.status === 201 ? [`/webhooks/${webhook.body.data.id}`] : []),
    ];
  }

  it('has nothing for axe to find, in light and in dark, and shows hostile data as text', async () => {
    const problems: string[] = [];
    for (const path of paths) {
      await scene.visit(light, path);
      const found = await accessibilityProblems(light);
      await light.evaluate(`document.documentElement.dataset.theme = 'dark'`);
      found.push(...(await accessibilityProblems(light, ['color-contrast'])));
      problems.push(...found.map((problem) => `${path}: ${problem}`));
      expect(await light.evaluate(`'pwned' in window`)).toBe(false);
    }
    expect(problems).toEqual([]);
    await scene.visit(light, '/emails');
    expect(await light.getByRole('link', { name: SUBJECT }).count()).toBe(1);
    expect(scene.complaints).toEqual([]);
  });

  it('fits a window of 360 pixels', async () => {
    const phone = await scene.signedIn(scene.acme.liveKey, { viewport: { width: 360, height: 740 } });
    const wide: string[] = [];
    for (const path of paths) {
      await scene.visit(phone, path);
      const pixels = await overflow(phone);
      if (pixels > 0) wide.push(`${path}: ${pixels}`);
    }
    expect(wide).toEqual([]);
    await phone.getByRole('button', { name: 'Menu' }).click();
    await phone.getByRole('link', { name: 'Domains' }).click();
    await phone.getByRole('heading', { name: 'Domains' }).waitFor();
    expect(await phone.getByRole('link', { name: 'Statistics' }).isVisible()).toBe(false);
  });

  it('says what has gone wrong, with what helps to find out why', async () => {
    const page = await scene.signedIn();
    await page.route('**/v1/domains*', (route) =>
      route.fulfill({
        status: 503,
        headers: { 'x-request-id': 'req-42', 'content-type': 'application/json' },
        body: JSON.stringify({
          error: { code: 'service_unavailable', message: 'The database is away', suggestion: 'Wait a little' },
        }),
      }),
    );
    await page.goto(`${scene.base}/console/domains`);
    const alert = page.getByRole('alert');
    await alert.waitFor();
    const said = await alert.textContent();
    for (const part of ['The database is away', 'Wait a little', 'service_unavailable', 'req-42']) {
      expect(said).toContain(part);
    }
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.unroute('**/v1/domains*');
    await alert.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('link', { name: 'acme.example' }).waitFor();
  });

  it('is served strictly, kept for long, and small at the beginning', async () => {
    const page = await fetch(`${scene.base}/console/emails`);
    expect(page.headers.get('cache-control')).toBe('no-cache');
    const policy = page.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|\*|https?:/);
    const html = await page.text();
    const names = [...html.matchAll(/(?:src|href)="(\/console\/[^"]+)"/g)].map(([, name]) => name ?? '');
    expect(names).toHaveLength(3);
    for (const name of names) {
      const file = await fetch(scene.base + name);
      expect(file.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    }
    const first = names.find((name) => name.endsWith('.js')) ?? '';
    const text = await (await fetch(scene.base + first)).text();
    // What the first script imports at once comes with it.
    const chunks = [...text.matchAll(/from"\.\/(chunk-\w+\.js)"|import"\.\/(chunk-\w+\.js)"/g)].map(
      ([, one, other]) => one ?? other ?? '',
    );
    const others = await Promise.all(
      chunks.map(async (name) => (await fetch(`${scene.base}/console/assets/${name}`)).text()),
    );
    expect([text, ...others].reduce((sum, script) => sum + gzipSync(script).length, 0)).toBeLessThan(MAX_FIRST_SCRIPT);
  });

  it('asks nobody but its own host', async () => {
    const page = await scene.signedIn();
    const hosts = new Set<string>();
    page.on('request', (request) => hosts.add(new URL(request.url()).host));
    const [email = ''] = paths.filter((path) => path.startsWith('/emails/'));
    await scene.visit(page, email);
    await page.frameLocator('iframe').locator('body').waitFor();
    await waitFor(() => hosts.size > 0, { what: 'requests' });
    expect([...hosts]).toEqual([new URL(scene.base).host]);
  });
});
