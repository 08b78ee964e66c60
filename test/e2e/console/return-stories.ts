import { randomUUID } from 'node:crypto';
import { waitFor } from '../../setup/wait-for';
import { button, type ConsoleScene, field, heading } from './console-scene';

const PHONE = { width: 390, height: 780 };

/** When people go back, or are told to come again. */
export function returnStories(sceneOf: () => ConsoleScene): void {
  let scene: ConsoleScene;
  beforeAll(() => {
    scene = sceneOf();
  });

  it('undoes the last filter by “Back”, and leaves the list only where there was none', async () => {
    const page = await scene.signedIn();
    await scene.visit(page, '/domains');
    await page.getByRole('link', { name: 'Suppressions' }).click();
    await heading(page, 'Suppressions').waitFor();
    const searchIs = (search: string) => waitFor(() => new URL(page.url()).search === search, { what: search });
    await page.getByLabel('Reason').selectOption('unsubscribe');
    await searchIs('?reason=unsubscribe');
    await page.getByRole('search').getByLabel('Address').fill('back@x.example');
    await page.keyboard.press('Enter');
    await searchIs('?reason=unsubscribe&email=back%40x.example');
    // The same once more is no step.
    await page.keyboard.press('Enter');
    await page.goBack();
    await searchIs('?reason=unsubscribe');
    await waitFor(async () => (await page.getByRole('search').getByLabel('Address').inputValue()) === '', {
      what: 'the field without the filter that is undone',
    });
    await page.goBack();
    await searchIs('');
    expect(await page.getByLabel('Reason').inputValue()).toBe('');
    await page.goBack();
    await heading(page, 'Domains').waitFor();
  });

  it('counts down to when the service may be asked again, which is read aloud once', async () => {
    const page = await scene.signedIn();
    await page.clock.install();
    await page.route('**/v1/suppressions', (route) =>
      route.fulfill({
        ...{ status: 429, headers: { 'retry-after': '30', 'content-type': 'application/json' } },
        body: JSON.stringify({ error: { code: 'rate_limit_exceeded', message: 'Too many requests' } }),
      }),
    );
    await scene.visit(page, '/suppressions');
    await button(page, 'Add an address').click();
    await field(page, 'Address').last().fill('late@x.example');
    await page.getByRole('dialog').getByRole('button', { name: 'Add' }).click();
    const alert = page.getByRole('alert');
    await alert.getByText('Too many requests').waitFor();
    const read = alert.locator('.visually-hidden');
    const before = await read.textContent();
    expect(before).toMatch(/^Try again in \d+ s\.$/);
    await page.clock.runFor(12_000);
    await alert.getByText(/Try again in 1\d s\./).waitFor();
    await page.clock.runFor(20_000);
    await alert.getByText('You can try again now.').waitFor();
    expect(await read.textContent()).toBe(before);
  });

  it('keeps the mail that is written when the session ends, until it is sent', async () => {
    const key = await scene.acme.key('live', ['email:send', 'email:read', 'domain:read']);
    const page = await scene.open();
    const signIn = async () => {
      await page.getByLabel('API key').fill(key);
      await button(page, 'Sign in').click();
      await heading(page, 'Send a test mail').waitFor();
    };
    await page.goto(`${scene.base}/console/send`);
    await signIn();
    await field(page, 'To').fill('ada@example.com');
    await field(page, 'Subject').fill('Written with care');
    await page.context().clearCookies();
    await button(page, /^Send$/).click();
    await page.getByText('a test mail are kept').waitFor();
    await signIn();
    expect(await field(page, 'To').inputValue()).toBe('ada@example.com');
    await button(page, /^Send$/).click();
    await heading(page, 'Written with care').waitFor();
    await page.goBack();
    await waitFor(async () => (await field(page, 'To').inputValue()) === '', { what: 'another mail' });
  });

  it('shows a page by itself once the network is back, whose script it did not have', async () => {
    const page = await scene.signedIn();
    await scene.visit(page, '/domains');
    await page.context().setOffline(true);
    try {
      await page.getByRole('link', { name: 'Privacy' }).click();
      await page.getByRole('alert').getByText('The service does not respond').waitFor();
      await page.getByText('Check the network, then try again').waitFor();
    } finally {
      await page.context().setOffline(false);
    }
    await heading(page, 'Privacy').waitFor();
  });

  it('has the button that copies beside what it copies, on a phone too', async () => {
    const { domainId } = scene.acme;
    const page = await scene.signedIn();
    await page.setViewportSize(PHONE);
    await scene.visit(page, `/domains/${domainId}`);
    const copy = button(page, 'Copy the id');
    const [text, beside] = await Promise.all([
      page.locator('code', { hasText: domainId }).boundingBox(),
      copy.boundingBox(),
    ]);
    expect(beside?.y).toBeLessThan((text?.y ?? 0) + (text?.height ?? 0));
  });

  it('shows the history of a restricted domain, without that of others', async () => {
    const page = await scene.signedIn(await scene.tenants.operatorKey());
    const { organizationId, domainId } = scene.acme;
    const other = randomUUID();
    for (const id of [domainId, other]) {
      await scene.db.query(
        `insert into audit_log (id, occurred_at, organization_id, actor, action, target_type, target_id, data)
         values (gen_random_uuid(), now(), $1, 'system', 'domain.sending_paused', 'domain', $2, '{}')`,
        [organizationId, id],
      );
    }
    const restricted = {
      ...{ id: domainId, organizationId, domain: 'acme.example', status: 'paused', reason: 'operator' },
      since: new Date().toISOString(),
    };
    await page.route('**/operator/v1/restricted-domains*', (route) => route.fulfill({ json: { data: [restricted] } }));
    await scene.visit(page, '/restricted-domains');
    await page.getByRole('link', { name: 'History of acme.example' }).click();
    await page
      .getByRole('row', { name: new RegExp(domainId) })
      .first()
      .waitFor();
    expect(await page.getByRole('row', { name: new RegExp(other) }).count()).toBe(0);
    await field(page, 'Target (id)').fill('');
    await page.keyboard.press('Enter');
    await page.getByRole('row', { name: new RegExp(other) }).waitFor();
  });
}
