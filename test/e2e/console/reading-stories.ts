import type { Page, Route } from 'playwright-core';
import { waitFor } from '../../setup/wait-for';
import { button, type ConsoleScene, field, heading } from './console-scene';

/** Opened once, by hand. */
function gate() {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

/** What people see when data is old, late or refused. */
export function readingStories(sceneOf: () => ConsoleScene): void {
  let scene: ConsoleScene;
  beforeAll(() => {
    scene = sceneOf();
  });

  const returnToWindow = (page: Page) => page.evaluate(`window.dispatchEvent(new Event('visibilitychange'))`);
  /** Everything that was answered before has been drawn. */
  const settled = (page: Page) =>
    page.evaluate(
      `fetch('/health').then(() => new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn))))`,
    );

  /** Holds the next request of such an address. Its answer is that of the time of the request. */
  async function hold(page: Page, url: string, status?: number) {
    const [begun, released, answered] = [gate(), gate(), gate()];
    const answer = async (route: Route) => {
      const response = await route.fetch();
      const body = await response.body();
      begun.open();
      await released.opened;
      // One that the page no longer waits for cannot be answered.
      await route.fulfill({ response, body, ...(status !== undefined && { status }) }).catch(() => undefined);
      answered.open();
    };
    await page.route(url, answer, { times: 1 });
    const release = async () => {
      released.open();
      await answered.opened;
    };
    return { held: begun.opened, release };
  }

  async function openedByLink(organizationId = scene.acme.organizationId): Promise<Page> {
    const page = await scene.open();
    await page.goto(scene.base + (await scene.tenants.signInLink(organizationId)));
    await heading(page, 'Overview').waitFor();
    return page;
  }

  describe('of the session', () => {
    it('keeps what is open when the session cannot be read again', async () => {
      const page = await scene.signedIn();
      await scene.visit(page, '/keys');
      await button(page, 'Create a key').first().click();
      await field(page, 'Name').fill('Not to be lost');
      let failed = 0;
      await page.route('**/console/session', async (route) => {
        failed += 1;
        await route.fulfill({ status: 503, body: '{}' });
      });
      await returnToWindow(page);
      await waitFor(() => failed === 3, { what: 'the last try' });
      await settled(page);
      expect(await field(page, 'Name').inputValue()).toBe('Not to be lost');
    });

    it('lets people out of a suspended organization: they sign in elsewhere, by a link too, or sign out', async () => {
      const closed = await scene.tenants.create('suspended.example');
      const page = await openedByLink(closed.organizationId);
      await scene.tenants.suspend(closed.organizationId);
      const refusal = page.getByRole('alert').getByText('The organization is suspended');
      await waitFor(
        async () => {
          await page.goto(`${scene.base}/console`);
          await page.locator('h1').waitFor();
          return (await heading(page, 'Sign in').isVisible()) && refusal.isVisible();
        },
        { what: 'the refusal' },
      );
      await field(page, 'API key or operator key').fill('wb_live_half');
      await returnToWindow(page);
      await settled(page);
      expect(await field(page, 'API key or operator key').inputValue()).toBe('wb_live_half');
      await page.goto(scene.base + (await scene.tenants.signInLink(scene.acme.organizationId)));
      await heading(page, 'Overview').waitFor();
      expect(await refusal.count()).toBe(0);
    });

    it('signs out of a suspended organization', async () => {
      const page = await scene.open();
      const suspended = { error: { code: 'account_suspended', message: 'The organization is suspended' } };
      await page.route('**/console/session', (route) => route.fulfill({ status: 403, json: suspended }), { times: 1 });
      await page.goto(`${scene.base}/console/emails`);
      await button(page, 'Sign out').click();
      await page.getByText('The organization is suspended').waitFor({ state: 'detached' });
      await heading(page, 'Sign in').waitFor();
    });

    it('shows the newest sign-in, whatever is still said of the session before', async () => {
      const other = await scene.tenants.create('newest.example');
      const page = await openedByLink();
      const domains = await hold(page, '**/v1/domains*', 401);
      await page.goto(`${scene.base}/console/domains`);
      await domains.held;
      const session = await hold(page, '**/console/session');
      await returnToWindow(page);
      await session.held;
      // In the same page: it still waits for both.
      const [, hash] = (await scene.tenants.signInLink(other.organizationId)).split('#');
      await page.evaluate(`location.hash = '${hash}'`);
      await button(page, 'Sign in with the link').click();
      await page.getByText('newest.example', { exact: true }).waitFor();
      await domains.release();
      await session.release();
      await settled(page);
      expect(await page.locator('.who').textContent()).toContain('Owner of newest.example');
      expect(await page.getByText('Your session has ended').count()).toBe(0);
    });
  });

  it('says that a proxy has answered instead of the service, and does not send twice for it', async () => {
    const page = await scene.signedIn();
    await scene.visit(page, '/send');
    await field(page, 'To').fill('proxy@example.com');
    await field(page, 'Subject').fill('Behind a proxy');
    const keys: unknown[] = [];
    page.on('request', (request) => {
      if (request.method() === 'POST') keys.push(request.headers()['x-idempotency-key']);
    });
    const portal = { contentType: 'text/html', body: '<!doctype html><title>Sign in to the network</title>' };
    await page.route('**/v1/emails', (route) => route.fulfill(portal), { times: 1 });
    await button(page, /^Send$/).click();
    await page.getByRole('alert').getByText('The response did not come from the service').waitFor();
    await button(page, /^Send$/).click();
    await heading(page, 'Behind a proxy').waitFor();
    expect(keys).toEqual([expect.any(String), keys[0]]);
    await page.route('**/v1/domains*', (route) => route.fulfill(portal));
    await scene.turnTo(page, '/domains');
    await page.getByRole('alert').getByText('The response did not come from the service').waitFor();
    await page.unroute('**/v1/domains*');
    await page.getByRole('link', { name: 'acme.example' }).waitFor();
  });

  it('counts by the clock of the service where that of the browser is hours behind or ahead', async () => {
    const subject = 'Now by any clock';
    await scene.api().send({ from: 'hello@acme.example', to: ['clock@example.com'], subject });
    for (const hours of [-5, 5]) {
      const page = await scene.open();
      await page.clock.install({ time: Date.now() + hours * 3_600_000 });
      await page.goto(scene.base + (await scene.tenants.signInLink(scene.acme.organizationId)));
      await heading(page, 'Overview').waitFor();
      await scene.visit(page, '/emails');
      await page.getByLabel('Time').selectOption({ label: 'Last hour' });
      const row = page.getByRole('row', { name: subject });
      await row.waitFor();
      expect(await row.locator('time').textContent()).toMatch(/now|sec|min/);
    }
  });

  describe('of figures and lists', () => {
    it('goes on to the next hour on a page that is left open, without any news', async () => {
      const page = await scene.open();
      await page.clock.install();
      await page.goto(scene.base + (await scene.tenants.signInLink(scene.acme.organizationId)));
      for (const name of ['Overview', 'Statistics']) {
        await page.getByRole('link', { name }).first().click();
        await heading(page, name).waitFor();
        const ends = new Set<string>();
        page.on('request', (request) => {
          const { pathname, searchParams } = new URL(request.url());
          if (pathname === '/v1/stats') ends.add(searchParams.get('end_date') ?? '');
        });
        await page.clock.fastForward('01:00:00');
        const next = new Date(Math.ceil(Number(await page.evaluate('Date.now()')) / 3_600_000) * 3_600_000);
        await waitFor(() => ends.has(next.toISOString()), { what: `the hour that ends at ${next.toISOString()}` });
      }
    });

    it('are asked for seldom while nothing changes', async () => {
      const quiet = await scene.tenants.create('quiet.example');
      const page = await scene.open();
      await page.clock.install();
      await page.goto(scene.base + (await scene.tenants.signInLink(quiet.organizationId)));
      await page.getByText('Nothing is waiting: all mail has been processed.').waitFor();
      let asked = 0;
      page.on('request', (request) => {
        if (new URL(request.url()).pathname.startsWith('/v1/')) asked += 1;
      });
      for (let seconds = 0; seconds < 300; seconds += 5) {
        await page.clock.runFor(5_000);
        await settled(page);
      }
      expect(asked).toBeGreaterThan(10);
      expect(asked).toBeLessThan(50);
    });

    it('are of UTC, in whichever zone the reader is, and a day is a day', async () => {
      const page = await scene.open({ timezoneId: 'Asia/Kolkata' });
      await page.goto(scene.base + (await scene.tenants.signInLink(scene.acme.organizationId)));
      await heading(page, 'Overview').waitFor();
      await scene.api().send({ from: 'hello@acme.example', to: ['ada@example.com'], subject: 'Counted' });
      await scene.visit(page, '/statistics?range=168&step=24');
      await page.getByText('The figures as a table').click();
      await page.getByRole('columnheader', { name: 'Time (UTC)' }).waitFor();
      const times = await page.locator('figure').getByRole('rowheader').allTextContents();
      expect(times.length).toBeGreaterThanOrEqual(7);
      expect(times.filter((time) => !/, 00:00( in part)?$/.test(time))).toEqual([]);
    });

    it('compares figures only with those of the same filter', async () => {
      const page = await scene.signedIn();
      await scene.visit(page, '/statistics?range=24');
      const accepted = page.locator('.figure', { hasText: 'Accepted' });
      await accepted.getByText('before: 0').waitFor();
      const isBefore = (url: URL) =>
        url.pathname === '/v1/stats' && Date.parse(url.searchParams.get('end_date') ?? '') < Date.now();
      let held: Route | undefined;
      await page.route(isBefore, (route) => {
        held = route;
      });
      await page.getByLabel('Period').selectOption('720');
      await waitFor(() => held, { what: 'the request for the period before' });
      await accepted.getByText('before:').waitFor({ state: 'detached' });
      await held?.continue();
      await accepted.getByText('before: 0').waitFor();
    });

    it('says that they are not up to date without a network, and catches up with it', async () => {
      const page = await openedByLink();
      await scene.api().send({ from: 'hello@acme.example', to: ['ada@example.com'], subject: 'Before the gap' });
      await page.getByRole('link', { name: 'Emails' }).first().click();
      await page.getByText('Before the gap').waitFor();
      const live = page.locator('.live');
      await live.getByText('Live', { exact: true }).waitFor();
      await page.context().setOffline(true);
      await page.getByText('Not up to date.').waitFor();
      expect(await live.textContent()).toBe('Not live');
      await page.context().setOffline(false);
      await page.getByText('Not up to date.').waitFor({ state: 'detached' });
      await live.getByText('Live', { exact: true }).waitFor();
    });

    it('asks once where the service says when to come again', async () => {
      const page = await scene.signedIn();
      await scene.visit(page, '/templates');
      let asked = 0;
      await page.route('**/v1/emails?*', async (route) => {
        asked += 1;
        await route.fulfill({ status: 503, headers: { 'retry-after': '3600' }, body: '{}' });
      });
      await scene.turnTo(page, '/emails');
      await page.getByText('Try again in 60 min.').last().waitFor();
      expect(asked).toBe(1);
    });

    it('says what is wrong with a filter of the address', async () => {
      const page = await scene.signedIn();
      await scene.visit(page, '/emails?status=nonsense');
      await page
        .getByRole('alert')
        .getByText(/status must be/)
        .waitFor();
      expect(await button(page, 'Try again').count()).toBe(0);
    });

    it('are drawn in the colours of the theme, when it changes too', async () => {
      await scene.api().send({ from: 'hello@acme.example', to: ['ada@example.com'], subject: 'In a chart' });
      const page = await scene.signedIn();
      await scene.visit(page, '/');
      const drawing = () => page.evaluate<string>(`document.querySelector('canvas')?.toDataURL()`);
      await page.locator('canvas').first().waitFor();
      const light = await waitFor(drawing, { what: 'the chart' });
      await page.evaluate(`document.documentElement.dataset.theme = 'dark'`);
      await waitFor(async () => (await drawing()) !== light, { what: 'the chart in other colours' });
    });

    it('of events begin with the newest, go on by themselves, and go back on request', async () => {
      const page = await scene.signedIn();
      // The older the last one is, the longer the page waits for the next.
      const at = Date.now() - 1_683;
      const event = (n: number) => ({
        ...{ type: n % 500 === 7 ? 'email.bounced' : 'email.sent', timestamp: new Date(at + n).toISOString() },
        data: { eventId: `${n}`, recipient: `r${n}@x.example` },
      });
      const events = Array.from({ length: 1_683 }, (_, n) => event(n));
      let asked = 0;
      await page.route('**/v1/events?*', async (route) => {
        const query = new URL(route.request().url()).searchParams;
        const after = query.get('after');
        asked += 1;
        const isBack = query.get('order') === 'desc';
        const [from, to] = isBack
          ? [Math.max(0, Number(after ?? events.length) - 100), Number(after ?? events.length)]
          : [Number(after) + 1, Math.min(events.length, Number(after) + 101)];
        const data = isBack ? events.slice(from, to).toReversed() : events.slice(from, to);
        const hasMore = isBack ? from > 0 : to < events.length;
        const pagination = { hasMore, nextCursor: String(isBack ? from : to - 1) };
        await route.fulfill({ json: { data, pagination } });
      });
      await scene.visit(page, '/events');
      const rows = page.locator('tbody tr');
      const shown = (n: number) => page.getByText(`r${n}@x.example`, { exact: true });
      expect(await rows.first().textContent()).toContain('r1682@x.example');
      expect([asked, await rows.count()]).toEqual([1, 100]);
      events.push(event(1_683));
      await shown(1_683).waitFor();
      await button(page, 'Show more').click();
      await shown(1_483).waitFor();
      expect(await rows.first().textContent()).toContain('r1683@x.example');
      // Of a type that is seldom it looks further back by itself.
      await page.getByLabel('Type').selectOption('bounced');
      await page.getByText('among the newest 1,000 events. The API').waitFor();
      expect(await rows.count()).toBe(2);
      await page.getByLabel('Type').selectOption('clicked');
      await page.getByText('No “Clicked” among the newest 1,000 events').waitFor();
      // A page that was away for long does not read all that it has missed.
      await button(page, 'Pause').click();
      for (let n = events.length; n < 6_000; n += 1) events.push(event(n));
      await page.getByLabel('Type').selectOption('');
      [asked] = [0];
      await button(page, 'Resume').click();
      // As when its window is returned to: at once.
      await page.evaluate(`window.dispatchEvent(new Event('visibilitychange'))`);
      await shown(5_999).waitFor();
      expect(asked).toBeLessThan(20);
    });

    it('search on in emails older than the newest 50,000', async () => {
      const id = await scene.api().send({ from: 'hello@acme.example', to: ['ada@example.com'], subject: 'Very old' });
      const [found] = (await scene.api().get(`/v1/emails?subject=very%20old`)).body.data;
      const page = await scene.signedIn();
      const cursors: string[] = [];
      await page.route('**/v1/emails?*subject=*', async (route) => {
        const cursor = new URL(route.request().url()).searchParams.get('cursor') ?? '0';
        cursors.push(cursor);
        const isThere = cursor === '2';
        const pagination = { page: 1, limit: 50, total: 0, totalPages: 0, partial: true };
        const next = Number(cursor) < 3 && { nextCursor: String(Number(cursor) + 1) };
        await route.fulfill({ json: { data: isThere ? [found] : [], pagination: { ...pagination, ...next } } });
      });
      await scene.visit(page, '/emails?q=very%20old');
      await heading(page, 'No match among the newest 50,000 emails').waitFor();
      await button(page, 'Search older emails').click();
      await page.getByRole('link', { name: 'Very old' }).waitFor();
      expect(cursors).toEqual(['0', '1', '2']);
      await button(page, 'Next').click();
      await heading(page, 'No older matching emails').waitFor();
      await button(page, 'Back to the newest').click();
      await heading(page, 'No match among the newest 50,000 emails').waitFor();
      await button(page, 'Search older emails').click();
      await page.getByRole('link', { name: 'Very old' }).click();
      await heading(page, 'Very old').waitFor();
      expect(page.url()).toContain(id);
      await page.goBack();
      await page.getByRole('link', { name: 'Very old' }).waitFor();
    });

    it('opens the row that was clicked while a filter was being written, and keeps Escape in its field', async () => {
      const id = await scene
        .api()
        .send({ from: 'hello@acme.example', to: ['ada@example.com'], subject: 'Clicked once' });
      const page = await scene.signedIn();
      await scene.visit(page, '/emails?q=clicked');
      await field(page, 'Tag').focus();
      await page.keyboard.press('Escape');
      expect(page.url()).toContain('q=clicked');
      await page.getByLabel('Recipient, subject or id').fill('clicked on');
      const row = page.getByRole('row', { name: 'Clicked once' });
      const [other] = await Promise.all([
        page.context().waitForEvent('page'),
        row
          .getByRole('cell')
          .first()
          .click({ modifiers: ['ControlOrMeta'] }),
      ]);
      await heading(other, 'Clicked once').waitFor();
      await other.close();
      await page.getByLabel('Recipient, subject or id').fill('clicked');
      await row.getByRole('cell').first().click();
      await heading(page, 'Clicked once').waitFor();
      expect(page.url()).toContain(id);
    });
  });

  it('tells a key that may only send why it sees nothing', async () => {
    const page = await scene.signedIn(await scene.acme.key('live', ['email:send']));
    await scene.visit(page, '/');
    await page.getByText('Your key can see neither mail nor statistics').waitFor();
    await page.getByRole('link', { name: 'Send a test mail' }).last().click();
    await field(page, 'To').fill('grace@example.org');
    const from = page.getByLabel('From');
    if ((await from.inputValue()) === '') await from.fill('hello@acme.example');
    await field(page, 'Subject').fill('Not read');
    await button(page, /^Send$/).click();
    await page.getByText('This key cannot see what happens to it').waitFor();
    await page.getByRole('link', { name: 'Send another' }).click();
    await heading(page, 'Send a test mail').waitFor();
  });

  it('loads the new release when a page belongs to one that is gone', async () => {
    const page = await scene.signedIn();
    await scene.visit(page, '/');
    const gone = (route: Route) => route.fulfill({ status: 404, body: '' });
    const upgraded = (route: Route) =>
      route.fulfill({ contentType: 'text/html', body: '<script src="/new"></script>' });
    await page.route('**/console/assets/webhooks-*.js', gone, { times: 1 });
    await page.route('**/console', upgraded, { times: 1 });
    await page.getByRole('link', { name: 'Webhooks' }).first().click();
    await heading(page, 'Webhooks').waitFor();
    // A second time it asks: the page could be loaded anew for ever.
    await page.route('**/console/assets/templates-*.js', gone);
    await page.route('**/console', upgraded);
    await page.getByRole('link', { name: 'Templates' }).first().click();
    await button(page, 'Load the new release').waitFor();
    await page.unroute('**/console/assets/templates-*.js');
    await button(page, 'Load the new release').click();
    await heading(page, 'Templates').waitFor();
    // The browser has logged the scripts that did not come.
    scene.complaints.splice(0);
  });
}
