import type { Page, Route } from 'playwright-core';
import { waitFor } from '../../setup/wait-for';
import { button, type ConsoleScene, field, heading } from './console-scene';

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
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    let begun: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const answer = async (route: Route) => {
      const response = await route.fetch();
      begun();
      await released;
      // One that the page no longer waits for cannot be answered.
      await route.fulfill({ response, ...(status !== undefined && { status }) }).catch(() => undefined);
    };
    await page.route(url, answer, { times: 1 });
    return { held, release };
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
          return refusal.isVisible();
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
      const domains = await hold(page, '**/v1/domains', 401);
      await page.goto(`${scene.base}/console/domains`);
      await domains.held;
      const session = await hold(page, '**/console/session');
      await returnToWindow(page);
      await session.held;
      await page.goto(scene.base + (await scene.tenants.signInLink(other.organizationId)));
      await button(page, 'Sign in with the link').click();
      await heading(page, 'Overview').waitFor();
      domains.release();
      session.release();
      await settled(page);
      await page.getByRole('link', { name: 'Domains' }).first().click();
      await page.getByText('newest.example').first().waitFor();
      expect(await page.locator('.who').textContent()).toContain('Owner of newest.example');
      expect(await page.getByText('Your session has ended').count()).toBe(0);
    });
  });
}
