import { gzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { waitFor } from '../../setup/wait-for';
import { accessibilityProblems, type ConsoleScene, cutTables, overflow } from './console-scene';
import { hostileData, hostileDestination, SUBJECT } from './hostile-data';

const PAGES = [
  '/',
  '/emails',
  '/events',
  '/statistics',
  '/send',
  '/domains',
  '/inbound',
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
    '/restricted-domains',
    '/egress',
    '/organizations',
    '/workers',
    '/audit',
  ],
];
const DIALOGS = [
  ['/suppressions', 'Import CSV'],
  ['/suppressions', 'Add an address'],
  ['/webhooks', 'Add a webhook'],
  ['/inbound', 'Add a route'],
  ['/domains', 'Add a domain'],
  ['/keys', 'Create a key'],
  ['/privacy', 'Erase a person'],
] as const;
/** Some thirty pages, each looked through by axe. */
const MANY_PAGES_MS = 600_000;
/** Pages that are looked at together: more are no faster on two cores. */
const TABS = 3;
const DESK = { width: 1280, height: 720 };
const LAPTOP = { width: 1024, height: 768 };
/** A desktop of 1440 pixels, at 200 %. */
const ENLARGED = { width: 720, height: 450 };
const PHONE = { width: 360, height: 740 };
const MAX_FIRST_SCRIPT = 150 * 1024;

/** A key, and the pages that it opens. */
interface Seat {
  readonly key: string;
  readonly paths: readonly string[];
}

/** What has been found out about a page. */
interface Look {
  readonly path: string;
  readonly problems: readonly string[];
  readonly pixelsTooWide: number;
  /** Tables whose last columns are out of sight, by their captions. */
  readonly cut: readonly string[];
  /** A script from outside has run. */
  readonly isPwned: boolean;
}

/** What has to hold on every page, whatever stands on it. */
export function everyPage(sceneOf: () => ConsoleScene): void {
  let scene: ConsoleScene;
  let seats: readonly Seat[];
  let seen: readonly Look[];
  let complaints: readonly string[];
  beforeAll(async () => {
    scene = sceneOf();
    const [tenant, operator] = [await hostileData(scene), await scene.tenants.operatorKey()];
    await hostileDestination(scene, operator);
    seats = [
      { key: scene.acme.liveKey, paths: [...PAGES, ...tenant] },
      { key: operator, paths: OPERATOR_PAGES },
    ];
    seen = await lookAtAll();
    complaints = [...scene.complaints];
  }, MANY_PAGES_MS);

  /** Each page once, some of them at a time; a tab goes from page to page as people do, without loading the app anew. */
  async function lookAtAll(): Promise<Look[]> {
    const looks: Look[] = [];
    for (const { key, paths } of seats) {
      const open = [...paths];
      const inTab = async (): Promise<void> => {
        const page = await scene.signedIn(key);
        await scene.visit(page, '/nowhere');
        for (let next = open.shift(); next !== undefined; next = open.shift()) looks.push(await lookAt(page, next));
        await page.close();
      };
      await Promise.all(Array.from({ length: TABS }, inTab));
    }
    return looks;
  }

  /** In light and in dark, as on a desk and as on a phone. */
  async function lookAt(page: Page, path: string): Promise<Look> {
    await page.setViewportSize(DESK);
    await page.evaluate(`document.documentElement.dataset.theme = 'light'`);
    await scene.turnTo(page, path);
    const problems = await accessibilityProblems(page);
    await page.evaluate(`document.documentElement.dataset.theme = 'dark'`);
    problems.push(...(await accessibilityProblems(page, ['color-contrast'])));
    const cut: string[] = [];
    for (const size of [LAPTOP, ENLARGED]) {
      await page.setViewportSize(size);
      cut.push(...(await cutTables(page)));
    }
    await page.setViewportSize(PHONE);
    const pixelsTooWide = await overflow(page);
    const isPwned = await page.evaluate<boolean>(`'pwned' in window`);
    return { path, problems, pixelsTooWide, cut, isPwned };
  }

  it('has nothing for axe to find, in light and in dark', () => {
    expect(seen.flatMap(({ path, problems }) => problems.map((problem) => `${path}: ${problem}`))).toEqual([]);
  });

  it('shows hostile data as text', async () => {
    expect(seen.filter(({ isPwned }) => isPwned)).toEqual([]);
    expect(complaints).toEqual([]);
    const page = await scene.signedIn();
    await scene.visit(page, '/emails?status=delivered');
    const link = page.getByRole('link', { name: SUBJECT });
    await link.first().waitFor();
    expect(await link.count()).toBe(1);
    // An override would show it as `Invoice exe.jpg`.
    const spoofed = { to: ['ada@example.com'], subject: 'Invoice \u202Egpj.exe', tags: ['\u2067a'] };
    const id = await scene.api().send({ from: 'hello@acme.example', ...spoofed });
    await scene.turnTo(page, '/emails');
    const row = page.getByRole('row', { name: 'Invoice ⟨U+202E⟩gpj.exe' });
    await row.getByText('⟨U+2067⟩a').waitFor();
    await scene.turnTo(page, `/emails/${id}`);
    await page.getByRole('heading', { name: 'Invoice ⟨U+202E⟩gpj.exe' }).waitFor();
    expect(await page.title()).toContain('⟨U+202E⟩');
  });

  it('fits into a window of 360 pixels', async () => {
    expect(seen.filter(({ pixelsTooWide }) => pixelsTooWide > 0)).toEqual([]);
    const phone = await scene.signedIn();
    await phone.setViewportSize(PHONE);
    await scene.visit(phone, '/');
    const menu = phone.getByRole('button', { name: 'Menu' });
    const title = phone.getByRole('heading', { name: 'Overview' });
    await menu.click();
    // Neither the focus nor a screen reader gets to what the menu covers.
    await title.waitFor({ state: 'hidden' });
    await phone.getByRole('link', { name: 'Overview' }).click();
    await title.waitFor();
    await menu.click();
    await phone.getByRole('link', { name: 'Domains' }).click();
    await phone.getByRole('heading', { name: 'Domains' }).waitFor();
    expect(await phone.getByRole('link', { name: 'Statistics' }).isVisible()).toBe(false);
  });

  it('has no dialog that is wider than a window of 320 pixels', async () => {
    const page = await scene.signedIn();
    await page.setViewportSize({ width: 320, height: 480 });
    await scene.visit(page, '/nowhere');
    for (const [path, name] of DIALOGS) {
      await scene.turnTo(page, path);
      await page.getByRole('button', { name }).first().click();
      const dialog = page.getByRole('dialog');
      const pixels = await dialog.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth);
      expect([name, pixels]).toEqual([name, 0]);
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
    }
  });

  it('shows all columns on a laptop and at 200 %, as cards where there is no room for them', () => {
    expect(seen.filter(({ cut }) => cut.length > 0).map(({ path, cut }) => [path, cut])).toEqual([]);
  });

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
    await waitFor(async () => (await focused()) === 'Add an address', { what: 'the focus where it was again' });
    await page.getByRole('button', { name: 'Remove keyboard@x.example' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).focus();
    await page.keyboard.press('Enter');
    await waitFor(async () => (await focused()) === 'Suppressions', { what: 'the focus at the heading' });
  });

  it('lets the keyboard skip what is the same on every page', async () => {
    const page = await scene.signedIn();
    await scene.visit(page, '/keys');
    const skip = page.getByRole('link', { name: 'Skip to the page' });
    const left = async () => (await skip.boundingBox())?.x ?? NaN;
    expect(await left()).toBeLessThan(0);
    await skip.focus();
    await waitFor(async () => (await left()) > 0, { what: 'the link to be seen' });
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    const focused = () => page.evaluate(`document.activeElement?.textContent`);
    await waitFor(async () => (await focused()) === 'Create a key', { what: 'the focus on the page' });
  });

  it('moves nothing for users who prefer reduced motion', async () => {
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

  it('shows an error with the data to find its cause', async () => {
    const page = await scene.signedIn();
    const refusal = {
      status: 503,
      // Else the page asks by itself, after which there is no button.
      headers: { 'x-request-id': 'req-42', 'content-type': 'application/json', 'retry-after': '3600' },
      body: JSON.stringify({
        error: { code: 'service_unavailable', message: 'The database is away', suggestion: 'Wait a little' },
      }),
    };
    let isAway = true;
    await page.route('**/v1/domains*', (route) => (isAway ? route.fulfill(refusal) : route.continue()));
    await page.goto(`${scene.base}/console/domains`);
    const alert = page.getByRole('alert');
    await alert.waitFor();
    const said = await alert.textContent();
    for (const part of ['The database is away', 'Wait a little', 'service_unavailable', 'req-42']) {
      expect(said).toContain(part);
    }
    expect(await accessibilityProblems(page)).toEqual([]);
    isAway = false;
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
    const names = [...html.matchAll(/(?:src|href)="\/console\/assets\/([^"]+)"/g)].map(([, name]) => name ?? '');
    const files = new Map<string, string>();
    for (const name of names) {
      const file = await fetch(`${scene.base}/console/assets/${name}`);
      expect(file.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
      files.set(name, await file.text());
    }
    const scripts = [...files].filter(([name]) => name.endsWith('.js'));
    // Nothing is found out about only once a script has been read: the page names all that its scripts import at once.
    const imported = scripts.flatMap(([, text]) =>
      [...text.matchAll(/(?:from|import)"\.\/([\w-]+\.js)"/g)].map(([, name]) => name),
    );
    expect(imported.length).toBeGreaterThan(0);
    expect(names).toEqual(expect.arrayContaining(imported));
    expect(scripts.reduce((sum, [, text]) => sum + gzipSync(text).length, 0)).toBeLessThan(MAX_FIRST_SCRIPT);
  });

  it('sends requests to its own host only', async () => {
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
