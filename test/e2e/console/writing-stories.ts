import type { Page, Route } from 'playwright-core';
import { waitFor } from '../../setup/wait-for';
import { button, type ConsoleScene, field, heading } from './console-scene';

/** Holds the requests to some addresses until they are let go. */
async function hold(page: Page, url: string | RegExp, isHeld: (route: Route) => boolean = () => true) {
  let letGo = (): void => undefined;
  const held = new Promise<void>((resolve) => (letGo = resolve));
  let waiting = 0;
  const handler = async (route: Route) => {
    if (!isHeld(route)) return route.fallback();
    waiting += 1;
    await held;
    await route.continue().catch(() => undefined);
  };
  await page.route(url, handler);
  const release = async () => {
    letGo();
    await page.unroute(url, handler);
  };
  return { release, waiting: () => waiting };
}

const isGet = (route: Route): boolean => route.request().method() === 'GET';

/** What people change: nothing is lost, and nothing goes that they have not been told of. */
export function writingStories(sceneOf: () => ConsoleScene): void {
  let scene: ConsoleScene;
  beforeAll(() => {
    scene = sceneOf();
  });

  const dialogOf = (page: Page) => page.getByRole('dialog');
  const suppress = async (email: string, reason: string) => {
    expect((await scene.api().post('/v1/suppressions', { email, reason })).status).toBe(201);
  };

  it('names every entry of an address before it is removed, and warns of an unsubscription', async () => {
    const email = 'twice@x.example';
    await suppress(email, 'unsubscribe');
    await suppress(email, 'manual');
    const page = await scene.signedIn();
    await scene.visit(page, '/suppressions?email=twice%40x.example&reason=manual');
    await button(page, `Remove ${email}`).click();
    const dialog = dialogOf(page);
    await dialog.getByText('Its owner has asked for no more mail').waitFor();
    expect(await dialog.getByRole('listitem').allTextContents()).toEqual([
      expect.stringContaining('Manual'),
      expect.stringContaining('Unsubscribe'),
    ]);
    await dialog.getByRole('button', { name: 'Remove' }).click();
    await page.getByText(`${email} is off the list`).waitFor();
    // With a reason chosen, an empty list says nothing about the others.
    await page.getByText('it may be listed with another one').waitFor();
    expect(await page.getByText('Mail to this address is sent.').count()).toBe(0);
  });

  it('explains why an address stays on the list, and asks again when its entries have changed', async () => {
    const email = 'bounced@x.example';
    await suppress(email, 'manual');
    const page = await scene.signedIn();
    await scene.visit(page, '/suppressions?email=bounced%40x.example');
    await button(page, `Remove ${email}`).click();
    const dialog = dialogOf(page);
    await dialog.getByRole('button', { name: 'Remove' }).waitFor();
    await suppress(email, 'unsubscribe');
    await dialog.getByRole('button', { name: 'Remove' }).click();
    await dialog.getByText('The entries of this address have changed').waitFor();
    await dialog.getByText('Its owner has asked for no more mail').waitFor();
    await page.keyboard.press('Escape');
    await scene.db.query(
      `update suppressions set reason = 'hard_bounce' where email = $1 and reason = 'unsubscribe' and mode = 'live'`,
      [email],
    );
    await button(page, `Remove ${email}`).first().click();
    await dialog.getByText('Its server has said that it does not exist').waitFor();
    expect(await dialog.getByRole('button', { name: 'Remove' }).count()).toBe(0);
  });

  it('shows a saved version of a template at once, and keeps what is typed meanwhile', async () => {
    const made = await scene.api().post('/v1/templates', { name: 'slow', subject: 'First', html: '<p>Hello</p>' });
    const path = `/templates/${made.body.data.id}`;
    const page = await scene.signedIn();
    await scene.visit(page, path);
    const subject = field(page, 'Subject');
    const reload = await hold(page, `**/v1${path}`, isGet);
    await subject.fill('Second');
    await button(page, 'Save as a new version').click();
    await waitFor(() => reload.waiting() > 0, { what: 'the page to load the template again' });
    await page.locator('.page-head').getByText('Version 2').waitFor();
    expect(await subject.inputValue()).toBe('Second');
    await subject.fill('Third');
    await reload.release();
    await page.getByText('slow is saved').waitFor();
    expect(await subject.inputValue()).toBe('Third');
    expect(await page.getByText('in the meantime').count()).toBe(0);
    await button(page, 'Save as a new version').click();
    await page.locator('.page-head').getByText('Version 3').waitFor();
    expect((await scene.api().get(`/v1${path}`)).body.data).toMatchObject({ version: 3, subject: 'Third' });
  });

  it('keeps what is typed while a new template is being saved', async () => {
    const page = await scene.signedIn();
    await scene.visit(page, '/templates/new');
    const saving = await hold(page, '**/v1/templates', (route) => !isGet(route));
    await field(page, 'Name').fill('fresh');
    await button(page, 'Save').click();
    await waitFor(() => saving.waiting() > 0, { what: 'the request to be under way' });
    await field(page, 'Subject').fill('Typed meanwhile');
    await saving.release();
    await heading(page, 'fresh').waitFor();
    await page.getByText('This is your draft from before').waitFor();
    expect(await field(page, 'Subject').inputValue()).toBe('Typed meanwhile');
  });
}
