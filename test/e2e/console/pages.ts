import { gzipSync } from 'node:zlib';
import { waitFor } from '../../setup/wait-for';
import { accessibilityProblems, type ConsoleScene, overflow } from './console-scene';

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
  '/templates',
  '/templates/new',
  '/keys',
  '/privacy',
  '/nowhere',
];
const OPERATOR_PAGES = [
  ...[
    '/',
    '/queue',
    '/destinations',
    '/destinations/mx1.evil.example',
    '/egress',
    '/organizations',
    '/workers',
    '/audit',
  ],
];
/** Some thirty pages, one after the other, each looked through by axe. */
const MANY_PAGES_MS = 600_000;
const MAX_FIRST_SCRIPT = 150 * 1024;

/** A key, and the pages that it opens. */
interface Seat {
  readonly key: string;
  readonly paths: readonly string[];
}

/** What has to hold on every page, whatever stands on it. */
export function everyPage(sceneOf: () => ConsoleScene): void {
  let scene: ConsoleScene;
  let seats: readonly Seat[];
  beforeAll(async () => {
    scene = sceneOf();
    const [tenant, operator] = [await hostileData(), await scene.tenants.operatorKey()];
    await hostileDestination(operator);
    seats = [
      { key: scene.acme.liveKey, paths: [...PAGES, ...tenant] },
      { key: operator, paths: OPERATOR_PAGES },
    ];
  });

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
      ...{ url: 'https://hooks.example.com/a', events: ['*'], description: evil.slice(0, 250) },
    });
    const [delivery] = await scene.db.query<{ id: string }>(
      `insert into webhook_messages
         (organization_id, mode, endpoint_id, id, event_type, state, attempts, last_status, last_error, last_answer,
          created_at, next_attempt_at)
       select organization_id, mode, id, gen_random_uuid(), 'delivered', 'failed', 3, 500, $1, $2, now(), now()
       from webhook_endpoints where id = $3
       returning id`,
      [evil, { headers: { server: evil }, body: HOSTILE.join(''), isCut: true, durationMs: 1 }, webhook.body.data.id],
    );
    const template = await api.post('/v1/templates', { name: 'evil', subject: 'Hello', html: HOSTILE[0] });
    return [
      `/emails/${id}`,
      `/domains/${scene.acme.domainId}`,
      `/webhooks/${webhook.body.data.id}`,
      `/webhooks/${webhook.body.data.id}?delivery=${delivery?.id}`,
      `/templates/${template.body.data.id}`,
    ];
  }

  /** A rule whose cause is hostile, and an organization that waits with a hostile reply. */
  async function hostileDestination(key: string): Promise<void> {
    const changed = await scene.api(key).call('PATCH', '/operator/v1/destinations/mx1.evil.example', {
      ...{ paused: true, maxConnections: 3, reason: SUBJECT.slice(0, 400) },
    });
    if (changed.status !== 200) throw new Error(JSON.stringify(changed.body));
    const scheduledAt = new Date(Date.now() + 86_400_000).toISOString();
    await scene.api().send({ from: 'hello@acme.example', to: ['ada@evil.example'], subject: SUBJECT, scheduledAt });
  }

  it(
    'has nothing for axe to find, in light and in dark, and shows hostile data as text',
    async () => {
      const problems: string[] = [];
      for (const { key, paths } of seats) {
        const page = await scene.signedIn(key);
        for (const path of paths) {
          await scene.visit(page, path);
          const found = await accessibilityProblems(page);
          await page.evaluate(`document.documentElement.dataset.theme = 'dark'`);
          found.push(...(await accessibilityProblems(page, ['color-contrast'])));
          problems.push(...found.map((problem) => `${path}: ${problem}`));
          expect(await page.evaluate(`'pwned' in window`)).toBe(false);
        }
      }
      expect(problems).toEqual([]);
      const page = await scene.signedIn();
      await scene.visit(page, '/emails?status=delivered');
      expect(await page.getByRole('link', { name: SUBJECT }).count()).toBe(1);
      expect(scene.complaints).toEqual([]);
    },
    MANY_PAGES_MS,
  );

  it(
    'fits a window of 360 pixels',
    async () => {
      const wide: string[] = [];
      for (const { key, paths } of seats) {
        const phone = await scene.signedIn(key, { viewport: { width: 360, height: 740 } });
        for (const path of paths) {
          await scene.visit(phone, path);
          const pixels = await overflow(phone);
          if (pixels > 0) wide.push(`${path}: ${pixels}`);
        }
      }
      expect(wide).toEqual([]);
      const phone = await scene.signedIn(scene.acme.liveKey, { viewport: { width: 360, height: 740 } });
      await scene.visit(phone, '/');
      await phone.getByRole('button', { name: 'Menu' }).click();
      await phone.getByRole('link', { name: 'Domains' }).click();
      await phone.getByRole('heading', { name: 'Domains' }).waitFor();
      expect(await phone.getByRole('link', { name: 'Statistics' }).isVisible()).toBe(false);
    },
    MANY_PAGES_MS,
  );

  it('is used with the keyboard alone: dialogs take the focus, and give it back', async () => {
    const page = await scene.signedIn();
    const focused = () => page.evaluate(`document.activeElement?.textContent`);
    await scene.visit(page, '/suppressions');
    await page.getByRole('button', { name: 'Add an address' }).focus();
    await page.keyboard.press('Enter');
    await page.keyboard.type('keyboard@x.example');
    await page.keyboard.press('Enter');
    await page.getByText('keyboard@x.example', { exact: true }).waitFor();
    await waitFor(async () => (await focused()) === 'Add an address', { what: 'the focus where it was' });
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await focused()).toBe('Add an address');
    await page.getByRole('button', { name: 'Remove keyboard@x.example' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).focus();
    await page.keyboard.press('Enter');
    await waitFor(async () => (await focused()) === 'Suppressions', { what: 'the focus at the heading' });
  });

  it('moves nothing for those who want it still', async () => {
    const animationIn = async (reducedMotion: 'reduce' | 'no-preference') => {
      const page = await scene.open({ reducedMotion });
      await page.goto(`${scene.base}/console`);
      await page.locator('h1').waitFor();
      return page.evaluate(`(() => {
        const skeleton = document.createElement('div');
        skeleton.className = 'skeleton';
        const line = skeleton.appendChild(document.createElement('span'));
        document.body.append(skeleton);
        return getComputedStyle(line).animationName;
      })()`);
    };
    expect([await animationIn('no-preference'), await animationIn('reduce')]).toEqual(['pulse', 'none']);
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
    const email = seats[0]?.paths.find((path) => path.startsWith('/emails/')) ?? '';
    await scene.visit(page, email);
    await page.frameLocator('iframe').locator('body').waitFor();
    await waitFor(() => hosts.size > 0, { what: 'requests' });
    expect([...hosts]).toEqual([new URL(scene.base).host]);
  });
}
