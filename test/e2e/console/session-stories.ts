import type { Page } from 'playwright-core';
import { waitFor } from '../../setup/wait-for';
import { button, type ConsoleScene, field, heading } from './console-scene';

const SCOPES = ['suppression:read', 'suppression:manage', 'webhook:read', 'webhook:manage', 'key:manage'] as const;

/** What becomes of what is open when a session ends, and when another one begins. */
export function sessionStories(sceneOf: () => ConsoleScene): void {
  let scene: ConsoleScene;
  beforeAll(() => {
    scene = sceneOf();
  });

  const dialog = (page: Page) => page.getByRole('dialog');
  const ended = (page: Page) => page.getByRole('status').getByText('Your session has ended').waitFor();

  async function signIn(page: Page, key: string): Promise<void> {
    await page.getByLabel('API key').fill(key);
    await button(page, 'Sign in').click();
    await heading(page, 'Sign in').waitFor({ state: 'detached' });
  }

  /** As when its window is returned to. */
  const returnTo = (page: Page) => page.evaluate(`window.dispatchEvent(new Event('visibilitychange'))`);

  /** Holds the next reading of the session. @returns what lets it go on, and waits until the page has drawn its answer */
  async function holdSession(page: Page): Promise<() => Promise<void>> {
    let open: () => void = () => undefined;
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    const answered = page.waitForResponse('**/console/session');
    await page.route(
      '**/console/session',
      async (route) => {
        await opened;
        await route.continue();
      },
      { times: 1 },
    );
    return async () => {
      open();
      await (await answered).finished();
      await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)))');
    };
  }

  /** Types an address into a dialog, and sends it when the session has ended. */
  async function loseSession(page: Page, address: string): Promise<void> {
    await button(page, 'Add an address').click();
    await field(page, 'Address').last().fill(address);
    await page.context().clearCookies();
    await dialog(page).getByRole('button', { name: 'Add' }).click();
    await ended(page);
  }

  it('keeps what is written in a dialog when the session ends, for the same key only', async () => {
    const key = await scene.acme.key('live', [...SCOPES]);
    const page = await scene.open();
    await page.goto(`${scene.base}/console/suppressions`);
    await signIn(page, key);
    await loseSession(page, 'kept@x.example');
    expect(await dialog(page).count()).toBe(0);
    await page.getByText('the open dialog, for the same key only').waitFor();
    await signIn(page, key);
    expect(await field(page, 'Address').last().inputValue()).toBe('kept@x.example');
    expect(await page.getByRole('alert').count()).toBe(0);
    await dialog(page).getByRole('button', { name: 'Add' }).click();
    await page.getByText('kept@x.example', { exact: true }).waitFor();
    expect(await dialog(page).count()).toBe(0);
    await loseSession(page, 'hidden@x.example');
    await signIn(page, await scene.acme.key('live', [...SCOPES]));
    await heading(page, 'Suppressions').waitFor();
    expect(await page.locator('dialog').count()).toBe(0);
  });

  it('keeps a dialog on a page about one thing for the next link, however late', async () => {
    const { body } = await scene.api().post('/v1/webhooks', { url: scene.receiver.url('/late'), events: ['*'] });
    const link = () => scene.tenants.signInLink(scene.acme.organizationId);
    const page = await scene.open();
    await page.clock.install();
    await page.goto(scene.base + (await link()));
    await heading(page, 'Overview').waitFor();
    await scene.visit(page, `/webhooks/${body.data.id}`);
    await button(page, 'Change').click();
    await field(page, 'Description').fill('Written late');
    await page.context().clearCookies();
    // Several responses tell that the session has ended, this one when the page is hidden.
    const read = await holdSession(page);
    await returnTo(page);
    await ended(page);
    await read();
    await page.clock.fastForward('01:00:00');
    const other = await page.context().newPage();
    await other.goto(scene.base + (await link()));
    await heading(other, 'Overview').waitFor();
    await other.close();
    await dialog(page).waitFor();
    expect(await field(page, 'Description').inputValue()).toBe('Written late');
    await dialog(page).getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved').waitFor();
    await page.getByText('Written late').waitFor();
  });

  it('closes what is open where another tab signs out', async () => {
    const key = await scene.acme.key('live', [...SCOPES]);
    const page = await scene.open();
    await page.goto(`${scene.base}/console/suppressions`);
    await signIn(page, key);
    await button(page, 'Add an address').click();
    await field(page, 'Address').last().fill('elsewhere@x.example');
    const other = await page.context().newPage();
    await other.goto(`${scene.base}/console/suppressions`);
    await button(other, /^Sign out$/).click();
    await heading(other, 'Sign in').waitFor();
    await other.close();
    await ended(page);
    await waitFor(async () => (await page.locator('dialog').count()) === 0, { what: 'the dialog to be closed' });
    await signIn(page, key);
    await heading(page, 'Suppressions').waitFor();
    expect(await dialog(page).count()).toBe(0);
  });

  it('keeps a dialog where the user does not follow a link', async () => {
    const page = await scene.signedIn();
    await scene.visit(page, '/suppressions');
    await button(page, 'Add an address').click();
    await field(page, 'Address').last().fill('stays@x.example');
    const [, hash] = (await scene.tenants.signInLink(scene.acme.organizationId)).split('#');
    await page.evaluate(`location.hash = '${hash}'`);
    await button(page, 'Stay signed in').click();
    expect(await field(page, 'Address').last().inputValue()).toBe('stays@x.example');
    await page.keyboard.press('Escape');
    await dialog(page).waitFor({ state: 'detached' });
  });

  it('forgets a key that is shown once when the session ends', async () => {
    const key = await scene.acme.key('live', [...SCOPES]);
    const page = await scene.open();
    await page.goto(`${scene.base}/console/keys`);
    await signIn(page, key);
    await button(page, 'Create a key').first().click();
    await field(page, 'Name').fill('Shown once');
    await dialog(page).getByRole('checkbox').first().check();
    await dialog(page).getByRole('button', { name: 'Create' }).click();
    const secret = await page.getByTestId('secret').textContent();
    expect(secret).toMatch(/^wb_/);
    await page.context().clearCookies();
    await returnTo(page);
    await ended(page);
    expect(await page.content()).not.toContain(secret);
    await signIn(page, key);
    await heading(page, 'API keys').waitFor();
    expect(await page.getByTestId('secret').count()).toBe(0);
  });
}
