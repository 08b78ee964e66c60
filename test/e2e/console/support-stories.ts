import type { Page } from 'playwright-core';
import { button, type ConsoleScene, field, heading } from './console-scene';

/** What is asked of those who may only read: why someone has no mail, and what the figures say. */
export function supportStories(sceneOf: () => ConsoleScene): void {
  let scene: ConsoleScene;
  beforeAll(() => {
    scene = sceneOf();
  });

  const figure = (page: Page, name: string) =>
    page.locator('.figure').filter({ has: page.getByText(name, { exact: true }) });

  it('says why an email did not arrive, and that nothing more is sent to its address', async () => {
    const { acme } = scene;
    const address = 'bounced+why@simulator.waybill.test';
    const to = [address, 'delivered@simulator.waybill.test'];
    const id = await scene.api(acme.testKey).send({ from: 'hello@acme.example', to, subject: 'Not there' });
    await scene.api(acme.testKey).waitForStatus(id, 'delivered');
    const page = await scene.signedIn(await acme.key('test', ['email:read', 'suppression:read']));
    await scene.visit(page, `/emails/${id}`);
    const why = page.getByRole('region', { name: 'Why it did not arrive' });
    await why.getByText(`${address}: There is no mailbox of that name (simulated).`).waitFor();
    await why.getByText('on the suppression list, because its server said that it does not exist').waitFor();
    expect(await why.getByText('delivered@').count()).toBe(0);
    await why.getByRole('link', { name: 'See its entries' }).click();
    await page.getByRole('row', { name: new RegExp(address.replace('+', '\\+')) }).waitFor();
    // What is sent to it from now on is refused, so that no email tells.
    await scene.visit(page, `/emails?q=${encodeURIComponent(address.toUpperCase())}`);
    await page.getByText('on the suppression list').waitFor();
    await scene.visit(page, '/emails?q=delivered@simulator.waybill.test');
    await page.getByRole('row', { name: /Not there/ }).waitFor();
    expect(await page.getByText('on the suppression list').count()).toBe(0);
  });

  it('says in words why an attempt ended, where, and what the server said, however long', async () => {
    const { testKey } = scene.acme;
    const to = ['soft-bounced@simulator.waybill.test'];
    const id = await scene.api(testKey).send({ from: 'hello@acme.example', to, subject: 'Put off' });
    await scene.api(testKey).waitForStatus(id, 'delivered');
    const lines = Array.from({ length: 20 }, (_, line) => `550-${line} ${'x'.repeat(400)}`);
    const route = { mxHost: 'mx.x.example', address: '192.0.2.1', port: 25 };
    const ends = [
      { phase: 'data', reply: { code: 250, lines: ['250 ok'] }, explanation: 'The server replied 250 to DATA' },
      {
        phase: 'rcpt',
        route,
        reply: undefined,
        failure: 'The server closed <img src=x onerror="pwned = 1"> \u202Egpj',
      },
    ];
    const page = await scene.signedIn(testKey);
    await page.route(`**/v1/emails/${id}/attempts`, async (request) => {
      const response = await request.fetch();
      const { data } = (await response.json()) as { data: { outcome: string }[] };
      const changed = data.map((attempt, index) =>
        Object.assign(attempt, attempt.outcome === 'deferred' ? ends[index - 1] : { reply: { code: 250, lines } }),
      );
      await request.fulfill({ response, json: { data: changed } });
    });
    await scene.visit(page, `/emails/${id}`);
    const entry = (text: string) => page.locator('.timeline > li', { hasText: text });
    await entry('The server replied 250 to DATA.').getByText('It ended before the message was sent (DATA).').waitFor();
    const closed = entry('It ended when the recipient was named (RCPT).');
    await closed.getByText('No reply: The server closed <img src=x onerror="pwned = 1"> ⟨U+202E⟩gpj').waitFor();
    const taken = entry("Accepted by the recipient's server");
    expect(await taken.getByText('550-19').isVisible()).toBe(false);
    await taken.getByText('The whole reply').click();
    await taken.getByText('550-19').waitFor();
    expect(await taken.getByText('550-0').locator('visible=true').count()).toBe(1);
  });

  it('sends from the default domain where that is not among those that the page has read', async () => {
    const page = await scene.signedIn(scene.acme.testKey);
    const { body } = await scene.api().get('/v1/domains');
    const data = [{ ...body.data[0], domain: 'other.example', is_default: false }];
    await page.route('**/v1/domains?*', (route) => route.fulfill({ json: { data, total: 2_000 } }));
    await scene.visit(page, '/send');
    await page.getByText('it is sent from your default domain').waitFor();
    const fills = () =>
      page.evaluate<string[]>(
        `[...document.querySelectorAll('fieldset button')].map((each) => getComputedStyle(each).backgroundColor)`,
      );
    expect(new Set(await fills()).size).toBe(1);
    await button(page, 'Opened').click();
    await page.getByRole('button', { name: 'Opened', pressed: true }).waitFor();
    // Off the button, which has another look below the pointer.
    await field(page, 'Subject').hover();
    expect(new Set(await fills()).size).toBe(2);
    await button(page, 'Send').click();
    await page.getByText('hello@acme.example to opened@simulator.waybill.test').waitFor();
  });

  it('gives no share of nothing, and no reputation without mail', async () => {
    const fresh = await scene.tenants.create('fresh.example');
    const page = await scene.signedIn(fresh.liveKey);
    await scene.visit(page, '/');
    await figure(page, 'Bounced').getByText('–').waitFor();
    await scene.turnTo(page, '/statistics');
    await figure(page, 'Clicked').getByText('– · before: 0').waitFor();
    await scene.turnTo(page, `/domains/${fresh.domainId}`);
    await figure(page, 'Score').getByText('no outcome yet').waitFor();
    await scene.turnTo(page, '/domains');
    await page
      .getByRole('row', { name: /fresh\.example/ })
      .getByText('–', { exact: true })
      .waitFor();
    for (const path of ['/', '/statistics', `/domains/${fresh.domainId}`]) {
      await scene.turnTo(page, path);
      expect(await page.locator('main').textContent()).not.toContain('0.0\u00a0%');
    }
  });

  it('shows three problems before the figures, the worst first, and the others on request', async () => {
    const page = await scene.signedIn();
    const { body } = await scene.api().get('/v1/domains');
    const [domain] = body.data;
    const data = [
      { ...domain, id: 'a', domain: 'a.example', verification_status: 'pending' },
      { ...domain, id: 'b', domain: 'b.example', warming_status: 'paused' },
      { ...domain, id: 'c', domain: 'c.example', verification_status: 'failed' },
      { ...domain, id: 'd', domain: 'd.example', dkim_status: 'failed' },
    ];
    await page.route('**/v1/domains?*', (route) => route.fulfill({ json: { data, total: data.length } }));
    await scene.visit(page, '/');
    const attention = page.getByRole('region', { name: 'What needs attention' });
    await attention.getByText(/^\d more problem/).waitFor();
    const seen = attention.locator('.notice').locator('visible=true');
    expect(await seen.count()).toBe(3);
    expect(await seen.first().textContent()).toContain('c.example');
    await attention.getByText(/^\d more problem/).click();
    await attention.getByText('The warm-up of b.example is paused').waitFor();
  });

  it('offers another scale where one hour hides the others', async () => {
    const page = await scene.signedIn();
    await page.route('**/v1/stats/hourly?*', async (route) => {
      const response = await route.fetch();
      const { data } = await response.json();
      const hourly = data.hourly.map((hour: object, index: number) => ({ ...hour, total: index === 5 ? 8_000 : 20 }));
      await route.fulfill({ response, json: { data: { ...data, hourly } } });
    });
    await scene.visit(page, '/');
    await page.getByText('One value is far above the others').waitFor();
    await page.getByRole('button', { name: 'Logarithmic' }).click();
    await page.getByRole('button', { name: 'Logarithmic', pressed: true }).waitFor();
    // Windows' contrast themes replace the backgrounds.
    await page.emulateMedia({ forcedColors: 'active' });
    const fills = await page.evaluate<string[]>(
      `[...document.querySelectorAll('[aria-label="Scale"] button')].map((each) => getComputedStyle(each).backgroundColor)`,
    );
    expect(new Set(fills).size).toBe(2);
    await page.locator('.chart canvas').waitFor();
  });

  it('shows the picture of a button where a list is empty', async () => {
    const page = await scene.signedIn((await scene.tenants.create('empty.example')).liveKey);
    await scene.visit(page, '/templates');
    await page.locator('.state .button svg').waitFor();
    const colourOf = (selector: string) =>
      page.evaluate<string>(`getComputedStyle(document.querySelector('${selector}')).color`);
    expect(await colourOf('.state .button svg')).toBe(await colourOf('.state .button'));
  });

  it('says that a page of the list is not live', async () => {
    await scene.api().send({ from: 'hello@acme.example', to: ['ada@example.com'], subject: 'On a later page' });
    const page = await scene.signedIn();
    // The first page in its place: the scene has too few emails for a second.
    await page.route('**/v1/emails?*', (route) =>
      route.continue({ url: route.request().url().replace('page=2', 'page=1') }),
    );
    await scene.visit(page, '/emails?page=2');
    await page.locator('.live').getByText('Not live').waitFor();
    await heading(page, 'Emails').waitFor();
    expect(await button(page, 'Previous').count()).toBe(1);
  });

  it('searches on in received mail older than the newest 50,000, and goes on behind the last page', async () => {
    const mail = {
      id: '0b',
      from: 'ada@sender.example',
      subject: 'Very old',
      marks: [],
      receivedAt: '2026-01-01T00:00:00Z',
    };
    const found = { ...mail, envelope: { from: mail.from, to: ['in@acme.example'] } };
    const page = await scene.signedIn();
    await page.route('**/v1/inbound-emails?*', async (route) => {
      const query = new URL(route.request().url()).searchParams;
      const at = Number(query.get('cursor') ?? 0);
      const isSearch = query.get('from') !== null;
      const counted = isSearch ? { total: 0, totalPages: 0, partial: true } : { total: 60_000, totalPages: 1_000 };
      const pagination = { page: 1, limit: 50, ...counted, ...(at < 3 && { nextCursor: String(at + 1) }) };
      await route.fulfill({ json: { data: at === 2 || !isSearch ? [found] : [], pagination } });
    });
    await scene.visit(page, '/inbound?from=ada@sender.example');
    await heading(page, 'No match among the newest 50,000 emails').waitFor();
    await button(page, 'Search older emails').click();
    await page.getByRole('link', { name: 'Very old' }).waitFor();
    await button(page, 'Next').click();
    await heading(page, 'No older matching emails').waitFor();
    await button(page, 'Back to the newest').click();
    await heading(page, 'No match among the newest 50,000 emails').waitFor();
    await scene.visit(page, '/inbound?page=1000');
    await button(page, 'Next').click();
    await page.getByText('Older emails').waitFor();
    await page.waitForURL((url) => url.searchParams.get('older') === '1');
  });

  it('keeps the place of figures that are on their way', async () => {
    const page = await scene.signedIn((await scene.tenants.create('still.example')).liveKey);
    await page.setViewportSize({ width: 375, height: 740 });
    let respond: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (respond = resolve));
    await page.route('**/v1/stats?*', async (route) => {
      await held;
      await route.continue();
    });
    await page.goto(`${scene.base}/console/`);
    const title = page.getByRole('heading', { name: 'Over time' });
    const top = async () => (await title.boundingBox())?.y;
    await page.getByText('Nothing was sent in this period').waitFor();
    const before = await top();
    respond();
    await figure(page, 'Accepted').waitFor();
    expect(await top()).toBe(before);
  });
}
