import type { Page } from 'playwright-core';
import { waitFor } from '../../setup/wait-for';
import { button, type ConsoleScene, field, heading } from './console-scene';

/** One that nothing is the matter with. */
const DESTINATION = {
  ...{ domains: [], state: 'open', active: 0, rules: [] },
  lastHour: { delivered: 0, deferred: 0, bounced: 0 },
};

/** What the browser or a slow service does to those who do not wait. */
export function patienceStories(sceneOf: () => ConsoleScene): void {
  let scene: ConsoleScene;
  beforeAll(() => {
    scene = sceneOf();
  });

  /** Holds the next POST to a path. @returns what lets it go on, and waits for its response */
  async function holdPost(page: Page, path: string): Promise<() => Promise<void>> {
    let letGo = (): void => undefined;
    const held = new Promise<void>((resolve) => (letGo = resolve));
    const isIt = ({ pathname }: URL) => pathname === path;
    const answered = page.waitForResponse(
      (response) => response.request().method() === 'POST' && isIt(new URL(response.url())),
    );
    await page.route(isIt, async (route) => {
      if (route.request().method() === 'POST') await held;
      await route.continue();
    });
    return async () => {
      letGo();
      await (await answered).finished();
      await page.unroute(isIt);
    };
  }

  it('leaves people where they have gone meanwhile', async () => {
    const page = await scene.signedIn();
    await scene.visit(page, '/send');
    await field(page, 'To').fill('grace@example.org');
    await field(page, 'Subject').fill('Slowly accepted');
    const accept = await holdPost(page, '/v1/emails');
    await button(page, /^Send$/).click();
    await page.getByRole('link', { name: 'Domains' }).first().click();
    await heading(page, 'Domains').waitFor();
    await accept();
    await page.getByText('Accepted: it is on its way').waitFor();
    expect(new URL(page.url()).pathname).toBe('/console/domains');

    await button(page, 'Add a domain').click();
    await field(page, 'Domain').fill('slowly.example');
    const add = await holdPost(page, '/v1/domains');
    await page.getByRole('dialog').getByRole('button', { name: 'Add' }).click();
    await page.goBack();
    await heading(page, 'Send a test mail').waitFor();
    await add();
    await page.goForward();
    await page.getByRole('link', { name: 'slowly.example' }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/console/domains');
  });

  it('keeps the rows of a list in their places under the pointer, and shows new ones on request', async () => {
    const page = await scene.signedIn(await scene.tenants.operatorKey());
    const rows = ['mx1', 'mx2', 'mx3'].map((name) => `${name}.rows.example`);
    let shown = rows;
    let asked = 0;
    await page.route('**/operator/v1/destinations?*', async (route) => {
      const response = await route.fetch();
      const { pagination } = (await response.json()) as { pagination: object };
      const data = shown.map((key) => ({ ...DESTINATION, key }));
      await route.fulfill({ json: { data, pagination: { ...pagination, total: data.length } } });
      asked += 1;
    });
    await page.clock.install();
    await scene.visit(page, '/destinations');
    const links = page.getByRole('link', { name: /rows\.example/ });
    const names = () => links.allTextContents();
    const loaded = async () => {
      const before = asked;
      await page.clock.runFor(5_000);
      await waitFor(() => asked > before, { what: 'the list to be loaded again' });
    };
    expect(await names()).toEqual(rows);
    await links.first().hover();
    shown = ['mx0.rows.example', 'mx3.rows.example', 'mx1.rows.example'];
    await loaded();
    await button(page, 'Show 1 new row').waitFor();
    expect(await names()).toEqual(rows);
    // It is not there any more, and nothing can be done with it.
    expect(await page.locator('tr[inert]').allTextContents()).toEqual([expect.stringContaining('mx2.rows.example')]);
    await button(page, 'Show 1 new row').click();
    await waitFor(async () => (await names()).join() === shown.join(), { what: 'the present rows' });
    shown = rows;
    await loaded();
    await button(page, 'Show 1 new row').waitFor();
    await page.mouse.move(0, 0);
    await waitFor(async () => (await names()).join() === rows.join(), { what: 'the present rows without the pointer' });
  });

  it('leaves the focus of the keyboard in a list, when its button has shown the last rows', async () => {
    const page = await scene.signedIn(await scene.tenants.operatorKey());
    const target = { type: 'installation', id: 'x' };
    const entry = (id: string) => ({
      id,
      at: '2026-01-01T00:00:00Z',
      action: `pressed.${id}`,
      actor: 'x',
      target,
      details: {},
    });
    await page.route('**/operator/v1/audit?*', (route) => {
      const isLast = new URL(route.request().url()).searchParams.has('cursor');
      return route.fulfill({ json: isLast ? { data: [entry('2')] } : { data: [entry('1')], nextCursor: '1' } });
    });
    await scene.visit(page, '/audit');
    await button(page, 'Show more').focus();
    await page.keyboard.press('Enter');
    await page.getByText('pressed.2').waitFor();
    await page.getByRole('status').getByText('The list ends here').waitFor();
    expect(await page.evaluate(`document.activeElement.textContent`)).toBe('Show more');
    await page.keyboard.press('Enter');
    expect(await page.getByText('pressed.2').count()).toBe(1);
    // A list of other filters begins anew.
    await field(page, 'Action').fill('x');
    await field(page, 'Action').press('Enter');
    await page.waitForURL('**/audit?action=x');
    await page.unroute('**/operator/v1/audit?*');
    await page.route('**/operator/v1/audit?*', (route) => route.fulfill({ json: { data: [entry('3')] } }));
    await scene.turnTo(page, '/audit?action=y');
    await page.getByText('pressed.3').waitFor();
    expect(await button(page, 'Show more').count()).toBe(0);
  });

  it('takes the focus to the heading of a page that was turned to, unless people have moved it on meanwhile', async () => {
    const page = await scene.signedIn();
    const focused = () => page.evaluate<string>(`document.activeElement.textContent`);
    const nav = (name: string) => page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name });
    const { body } = await scene.api().post('/v1/webhooks', { url: 'https://focus.example/', events: ['*'] });
    const path = `/webhooks/${body.data.id}`;
    let letGo = (): void => undefined;
    let held = new Promise<void>((resolve) => (letGo = resolve));
    await page.route(`**/v1${path}`, async (route) => {
      await held;
      await route.continue();
    });
    await page.goto(`${scene.base}/console${path}`);
    await heading(page, 'Webhook').waitFor();
    await waitFor(async () => (await focused()) === 'Webhook', { what: 'the focus at the heading' });
    await nav('Statistics').focus();
    letGo();
    await heading(page, 'https://focus.example/').waitFor();
    await page.evaluate(
      `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))`,
    );
    expect(await focused()).toBe('Statistics');

    await page.keyboard.press('Enter');
    await waitFor(async () => (await focused()) === 'Statistics' && (await heading(page, 'Statistics').count()) > 0, {
      what: 'the next page',
    });
    expect(await page.evaluate(`document.activeElement.tagName`)).toBe('H1');
    held = new Promise<void>((resolve) => (letGo = resolve));
    await scene.turnTo(page, '/nowhere');
    await page.reload();
    await page.evaluate(`history.pushState(null, '', '/console${path}')`);
    await heading(page, 'Webhook').waitFor();
    letGo();
    // Who has not moved it on finds it at the heading of what has come.
    await waitFor(async () => (await focused()) === 'https://focus.example/', { what: 'the focus at the heading' });
    expect(await page.evaluate(`document.activeElement.tagName`)).toBe('H1');
    await scene.api().call('DELETE', `/v1${path}`);
  });

  it('loads every list again that is open for long', async () => {
    const seats: readonly (readonly [key: string, path: string, asked: string])[] = [
      [scene.acme.liveKey, '/suppressions', '/v1/suppressions'],
      [scene.acme.liveKey, '/templates', '/v1/templates'],
      [scene.acme.liveKey, '/keys', '/v1/api-keys'],
      [scene.acme.liveKey, '/inbound', '/v1/inbound-routes'],
      [await scene.tenants.operatorKey(), '/audit', '/operator/v1/audit'],
    ];
    for (const [key, path, asked] of seats) {
      const page = await scene.signedIn(key);
      let times = 0;
      page.on('request', (request) => (times += Number(new URL(request.url()).pathname === asked)));
      await page.clock.install();
      await scene.visit(page, path);
      await page.locator('.card').first().waitFor();
      const before = times;
      await page.clock.fastForward(180_000);
      await waitFor(() => times > before, { what: `${path} to be loaded again` });
      await page.close();
    }
  });

  it('gives the focus to the list, when its button has shown the new rows', async () => {
    const page = await scene.signedIn(await scene.tenants.operatorKey());
    let keys = ['mx1.focus.example'];
    await page.route('**/operator/v1/destinations?*', (route) => {
      const data = keys.map((key) => ({ ...DESTINATION, key }));
      return route.fulfill({ json: { data, pagination: { page: 1, limit: 50, total: data.length, totalPages: 1 } } });
    });
    await page.clock.install();
    await scene.visit(page, '/destinations');
    await page.getByRole('link', { name: 'mx1.focus.example' }).focus();
    await page.keyboard.press('Shift');
    keys = ['mx0.focus.example', ...keys];
    await page.clock.runFor(5_000);
    await button(page, 'Show 1 new row').focus();
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'mx0.focus.example' }).waitFor();
    expect(await page.evaluate(`document.activeElement.tagName`)).toBe('TABLE');
    await page.keyboard.press('Tab');
    expect(await page.evaluate(`document.activeElement.textContent`)).toBe('mx0.focus.example');
  });

  it('opens in a browser that refuses storage, and says that it has kept no session', async () => {
    const page = await scene.open();
    await page.addInitScript(`for (const name of ['localStorage', 'sessionStorage']) {
      Object.defineProperty(window, name, { get() { throw new DOMException('Denied', 'SecurityError') } });
    }`);
    await page.route('**/console/session', async (route) => {
      // As over http, where the cookie is for https only.
      const response = await route.fetch();
      const headers = { ...response.headers() };
      delete headers['set-cookie'];
      await page.context().clearCookies();
      await route.fulfill({ response, headers });
    });
    await page.goto(`${scene.base}/console`);
    await page.getByLabel('API key').fill(scene.acme.liveKey);
    await button(page, 'Sign in').click();
    await page.getByRole('alert').getByText('The browser did not store the session').waitFor();
    expect(await page.getByText('Your session has ended').count()).toBe(0);
    await page.unroute('**/console/session');
    await button(page, 'Sign in').click();
    await heading(page, 'Overview').waitFor();
    await page.getByRole('link', { name: 'Domains' }).first().click();
    await page.getByRole('link', { name: 'acme.example' }).waitFor();
  });
}
