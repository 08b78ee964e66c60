import type { Page } from 'playwright-core';
import { button, type ConsoleScene, heading } from './console-scene';

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
    await why.getByText('on the suppression list, because its server has said that it does not exist').waitFor();
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

  it('gives no share of nothing, and no reputation without mail', async () => {
    const fresh = await scene.tenants.create('fresh.example');
    const page = await scene.signedIn(fresh.liveKey);
    await scene.visit(page, '/');
    await figure(page, 'Bounced').getByText('–').waitFor();
    await scene.visit(page, '/statistics');
    await figure(page, 'Clicked').getByText('– · before: 0').waitFor();
    await scene.visit(page, `/domains/${fresh.domainId}`);
    await figure(page, 'Score').getByText('no outcome yet').waitFor();
    for (const path of ['/', '/statistics', `/domains/${fresh.domainId}`]) {
      await scene.visit(page, path);
      expect(await page.locator('main').textContent()).not.toContain('0.0\u00a0%');
    }
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
}
