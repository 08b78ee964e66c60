import { waitFor } from '../../setup/wait-for';
import { button, type ConsoleScene, field, heading } from './console-scene';

/** What people see when responses are lost, sessions end, or someone else was quicker. */
export function failureStories(sceneOf: () => ConsoleScene): void {
  let scene: ConsoleScene;
  beforeAll(() => {
    scene = sceneOf();
  });

  it('sends one email when the response is lost and the user sends again', async () => {
    const page = await scene.signedIn();
    await scene.visit(page, '/send');
    await field(page, 'To').fill('grace@example.org');
    await field(page, 'Subject').fill('Sent once');
    const statuses: number[] = [];
    const loseOnce = (path: string) =>
      page.route(
        `**${path}`,
        async (route) => {
          statuses.push((await route.fetch()).status());
          await route.abort();
        },
        { times: 1 },
      );
    await loseOnce('/v1/emails');
    await button(page, /^Send$/).click();
    await page.getByRole('alert').getByText('The service does not respond').waitFor();
    await button(page, /^Send$/).click();
    await heading(page, 'Sent once').waitFor();
    await page.locator('.page-head').getByText('Delivered').waitFor();
    await loseOnce('/resend');
    await button(page, 'Send as new').click();
    await button(page, 'Send it again').click();
    await page.getByRole('alert').getByText('The service does not respond').waitFor();
    await button(page, 'Send it again').click();
    await page.getByText('Sent again from').waitFor();
    expect(statuses).toEqual([202, 202]);
    const { body } = await scene.api().get('/v1/emails?subject=Sent%20once');
    // The first one and its repetition.
    expect(body.data).toHaveLength(2);
  });

  it('marks the rows of the filter before while those of the new one are on their way', async () => {
    const page = await scene.signedIn();
    await scene.visit(page, '/suppressions');
    const busy = page.locator('.card [aria-busy="true"]');
    await page.locator('.card [aria-busy="false"]').waitFor({ state: 'attached' });
    let respond: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      respond = resolve;
    });
    await page.route('**/v1/suppressions?*reason=unsubscribe*', async (route) => {
      await held;
      await route.continue();
    });
    await page.getByLabel('Reason').selectOption('unsubscribe');
    await busy.waitFor({ state: 'attached' });
    respond();
    await busy.waitFor({ state: 'detached' });
  });

  it('tells other tabs of a sign-in over http too, where browsers have fewer functions', async () => {
    const key = await scene.acme.key('live', ['email:read']);
    const page = await scene.open();
    await page.context().addInitScript('delete Crypto.prototype.randomUUID');
    await page.goto(`${scene.base}/console/emails`);
    const second = await page.context().newPage();
    await second.goto(`${scene.base}/console/emails`);
    await heading(second, 'Sign in').waitFor();
    await page.getByLabel('API key').fill(key);
    await button(page, 'Sign in').click();
    await heading(second, 'Emails').waitFor();
    await button(second, /^Sign out$/).click();
    await heading(page, 'Sign in').waitFor();
    await second.close();
  });

  it('says that the session has ended, after a change too, and returns to the page', async () => {
    const key = await scene.acme.key('live', ['suppression:read', 'suppression:manage']);
    const page = await scene.open();
    await page.goto(`${scene.base}/console/suppressions`);
    await heading(page, 'Sign in').waitFor();
    expect(await page.getByText('Your session has ended').count()).toBe(0);
    const signIn = async () => {
      await page.getByLabel('API key').fill(key);
      await button(page, 'Sign in').click();
      await heading(page, 'Suppressions').waitFor();
    };
    await signIn();
    await button(page, 'Add an address').click();
    await field(page, 'Address').last().fill('late@x.example');
    await page.context().clearCookies();
    await page.getByRole('dialog').getByRole('button', { name: 'Add' }).click();
    await page.getByRole('status').getByText('Your session has ended').waitFor();
    await signIn();
  });

  it('says that a sign-out has failed', async () => {
    const page = await scene.open();
    await page.goto(scene.base + (await scene.tenants.signInLink(scene.acme.organizationId)));
    await heading(page, 'Overview').waitFor();
    await page.route('**/console/session?*', (route) => route.abort());
    await button(page, /^Sign out$/).click();
    await page.getByRole('status').getByText('You are still signed in').waitFor();
    await page.unroute('**/console/session?*');
    await button(page, /^Sign out$/).click();
    await heading(page, 'Sign in').waitFor();
  });

  it('asks before a draft is lost, and keeps it when the session has ended', async () => {
    const key = await scene.acme.key('live', ['template:read', 'template:manage', 'key:manage']);
    const page = await scene.open();
    const signIn = async () => {
      await page.getByLabel('API key').fill(key);
      await button(page, 'Sign in').click();
    };
    const isAsked = () => page.evaluate(`!window.dispatchEvent(new Event('beforeunload', { cancelable: true }))`);
    await page.goto(`${scene.base}/console/templates/new`);
    await signIn();
    await heading(page, 'A new template').waitFor();
    expect(await isAsked()).toBe(false);
    await field(page, 'Subject').fill('Written for an hour');
    expect(await isAsked()).toBe(true);
    await page.getByRole('link', { name: 'API keys' }).click();
    await heading(page, 'API keys').waitFor();
    expect(await isAsked()).toBe(true);
    await page.context().clearCookies();
    await page.getByRole('link', { name: 'Templates' }).click();
    await heading(page, 'Sign in').waitFor();
    await signIn();
    await heading(page, 'Templates').waitFor();
    await page.getByRole('link', { name: 'Write a template' }).first().click();
    expect(await field(page, 'Subject').inputValue()).toBe('Written for an hour');
    await button(page, 'Discard the draft').click();
    expect(await isAsked()).toBe(false);
  });

  it('keeps the draft of a template when someone else saves a version', async () => {
    const made = await scene.api().post('/v1/templates', { name: 'shared', subject: 'First', html: '<p>Hello</p>' });
    const path = `/templates/${made.body.data.id}`;
    const page = await scene.signedIn();
    await scene.visit(page, path);
    const subject = field(page, 'Subject');
    const saveElsewhere = async (text: string) => {
      const { status } = await scene.api().call('PATCH', `/v1${path}`, { subject: text });
      expect(status).toBe(200);
    };
    // As when a window is returned to, for which the page asks for news again.
    const returnTo = (version: number) =>
      waitFor(
        async () => {
          await page.evaluate(`window.dispatchEvent(new Event('visibilitychange'))`);
          return page.locator('.page-head').getByText(`Version ${version}`).isVisible();
        },
        { what: `version ${version}` },
      );
    await subject.fill('My draft');
    await saveElsewhere('Theirs');
    await returnTo(2);
    expect(await subject.inputValue()).toBe('My draft');
    await page.getByText('Version 2 was saved in the meantime').waitFor();
    await button(page, 'Save as a new version').click();
    await page.getByText('shared is saved').waitFor();
    await page.locator('.page-head').getByText('Version 3').waitFor();
    expect(await subject.inputValue()).toBe('My draft');
    expect(await page.getByText('in the meantime').count()).toBe(0);
    // Without a draft, the newest version is shown.
    await saveElsewhere('Theirs again');
    await returnTo(4);
    await waitFor(async () => (await subject.inputValue()) === 'Theirs again', { what: 'the newest version' });
    await subject.fill('Another draft');
    await saveElsewhere('The last one');
    await returnTo(5);
    await button(page, 'Discard the draft').click();
    expect(await subject.inputValue()).toBe('The last one');
  });
}
