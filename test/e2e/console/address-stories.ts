import type { Page } from 'playwright-core';
import { waitFor } from '../../setup/wait-for';
import { button, type ConsoleScene, field, heading } from './console-scene';

const DESTINATION = {
  ...{ mxHosts: [], domains: ['group.example'], state: 'open', active: 0 },
  ...{ rules: [], lastHour: { delivered: 0, deferred: 0, bounced: 0 } },
};

/** When people follow links, go back, and turn pages. */
export function addressStories(sceneOf: () => ConsoleScene): void {
  let scene: ConsoleScene;
  beforeAll(() => {
    scene = sceneOf();
  });

  const searchIs = (page: Page, search: string) =>
    waitFor(() => new URL(page.url()).search === search, { what: search });

  it('keeps a filter and a name as they were written, whatever signs are in them', async () => {
    const page = await scene.signedIn();
    await scene.visit(page, '/emails');
    const search = field(page, 'Recipient, subject or id');
    const asked = page.waitForRequest((request) => request.url().includes('subject='));
    await search.fill('50%be 100%25');
    await search.press('Enter');
    expect(new URL((await asked).url()).searchParams.get('subject')).toBe('50%be 100%25');
    expect(await search.inputValue()).toBe('50%be 100%25');
    await page.reload();
    expect(await search.inputValue()).toBe('50%be 100%25');

    const desk = await scene.signedIn(await scene.tenants.operatorKey());
    const key = '@group.example';
    await desk.route('**/operator/v1/destinations?*', (route) =>
      route.fulfill({ json: { data: [{ ...DESTINATION, key }], pagination: { total: 1, totalPages: 1 } } }),
    );
    await desk.route('**/operator/v1/destinations/*', (route) => {
      const wanted = decodeURIComponent(new URL(route.request().url()).pathname.split('/').at(-1) ?? '');
      return route.fulfill({ json: { data: { ...DESTINATION, key: wanted } } });
    });
    await scene.visit(desk, '/destinations');
    await desk.getByRole('link', { name: key }).click();
    await heading(desk, key).waitFor();
  });

  it('links to no page that the key cannot open', async () => {
    const { acme } = scene;
    const { body } = await scene.api().post('/v1/webhooks', { url: 'https://hooks.example/', events: ['*'] });
    const { id } = body.data;
    const links = (page: Page) =>
      page.evaluate<string[]>(`[...document.querySelectorAll('main a')].map((each) => each.getAttribute('href'))`);
    const hooks = await scene.signedIn(await acme.key('live', ['webhook:read', 'email:send']));
    const delivery = { id: '1', emailId: '2', eventType: 'email.bounced', state: 'failed', attempts: 1 };
    const data = [{ ...delivery, createdAt: '2026-01-01T00:00:00Z' }];
    await hooks.route(`**/v1/webhooks/${id}/deliveries?*`, (route) =>
      route.fulfill({ json: { data, pagination: { hasMore: false } } }),
    );
    await scene.visit(hooks, `/webhooks/${id}`);
    await hooks.getByRole('cell', { name: 'Email bounced', exact: true }).waitFor();
    expect(await links(hooks)).toEqual(['/console/webhooks']);
    await scene.turnTo(hooks, '/send');
    await hooks.getByText('domain has to be verified').waitFor();
    expect(await links(hooks)).toEqual(['/mailbox']);

    const mail = await scene.signedIn(await acme.key('live', ['email:read', 'inbound:read']));
    const route = { id: '1', address: 'a@x.example', domainId: '2', webhookId: '3', createdAt: '2026-01-01T00:00:00Z' };
    await mail.route('**/v1/inbound-routes?*', (request) =>
      request.fulfill({ json: { data: [route], pagination: { page: 1, limit: 20, total: 1, totalPages: 1 } } }),
    );
    await scene.visit(mail, '/inbound');
    await mail.getByRole('row', { name: 'a@x.example verified one webhook' }).waitFor();
    expect(await links(mail)).not.toEqual(expect.arrayContaining([expect.stringMatching(/domains|webhooks/)]));
    const sent = await scene.signedIn(await acme.key('live', ['email:read']));
    const events = [
      { type: 'inbound.received', timestamp: route.createdAt, data: { eventId: '1', inboundEmailId: '2' } },
    ];
    await sent.route('**/v1/events?*', (request) =>
      request.fulfill({ json: { data: events, pagination: { hasMore: false, nextCursor: '1' } } }),
    );
    await scene.visit(sent, '/events');
    await sent.getByRole('cell', { name: /received/i }).waitFor();
    expect(await links(sent)).toEqual([]);
    await scene.api().call('DELETE', `/v1/webhooks/${id}`);
  });

  it('shows what was chosen before, when people come back', async () => {
    const id = await scene.api().send({ to: ['ada@example.com'], subject: 'There and back' });
    await scene.api().waitForStatus(id, 'delivered');
    const page = await scene.signedIn();
    await scene.visit(page, '/events');
    await page.getByLabel('Type').selectOption('delivered');
    await page.getByRole('link', { name: 'Open' }).first().click();
    await page.getByText('What happened').waitFor();
    await page.goBack();
    await heading(page, 'Events').waitFor();
    expect(await page.getByLabel('Type').inputValue()).toBe('delivered');
    await page.goBack();
    await searchIs(page, '');
    expect(await page.getByLabel('Type').inputValue()).toBe('');

    await scene.visit(page, '/');
    await button(page, '7 days').click();
    await page.getByRole('link', { name: 'Domains' }).first().click();
    await heading(page, 'Domains').waitFor();
    await page.goBack();
    await heading(page, 'Overview').waitFor();
    expect(await button(page, '7 days').getAttribute('aria-pressed')).toBe('true');
  });

  it('begins another page at its top, returns to the place of the list, and keeps the focus where pages are turned', async () => {
    const page = await scene.signedIn();
    const email = (await scene.api().get('/v1/emails?limit=1')).body.data[0];
    await page.route('**/v1/emails?*', (route) => {
      const at = Number(new URL(route.request().url()).searchParams.get('page'));
      const data = Array.from({ length: 50 }, (_, n) => ({
        ...email,
        id: at === 1 && n === 49 ? email.id : `${at}-${n}`,
      }));
      return route.fulfill({ json: { data, pagination: { total: 100, page: at, limit: 50, totalPages: 2 } } });
    });
    const top = () => page.evaluate<number>('window.scrollY');
    await scene.visit(page, '/emails');
    const last = page.locator('tbody a').last();
    await last.scrollIntoViewIfNeeded();
    const place = await top();
    expect(place).toBeGreaterThan(500);
    // The second time the page is there at once, as high as the list before.
    for (const _ of [1, 2]) {
      await last.click();
      await page.getByText('What happened').waitFor();
      expect(await top()).toBe(0);
      await page.goBack();
      await heading(page, 'Emails').waitFor();
      await waitFor(async () => Math.abs((await top()) - place) < 300, { what: 'the place in the list' });
    }
    await button(page, 'Next').focus();
    await page.keyboard.press('Enter');
    await page.getByText('page 2 of 2').waitFor();
    await page.locator('[id="row-2-0"]').waitFor();
    expect(await button(page, 'Next').isDisabled()).toBe(true);
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Next');
    await page.keyboard.press('Enter');
    await button(page, 'Previous').press('Enter');
    await page.getByText('page 1 of 2').waitFor();
  });
}
