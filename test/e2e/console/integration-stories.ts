import { waitFor } from '../../setup/wait-for';
import { button, type ConsoleScene, field, heading } from './console-scene';

/** A response that tries to be more than text. */
const HOSTILE = '<img src=x onerror="window.pwned = 1"><script>window.pwned = 1</script>';

/** Webhooks and templates, each from its beginning to its end. */
export function integrationStories(sceneOf: () => ConsoleScene): void {
  let scene: ConsoleScene;
  beforeAll(() => {
    scene = sceneOf();
  });

  it('adds a webhook, and finds the cause of a failure in its response', async () => {
    const { receiver } = scene;
    receiver.answer = () => ({ status: 500, headers: { 'set-cookie': 'session=s3cret' }, body: HOSTILE });
    const page = await scene.signedIn();
    await scene.visit(page, '/webhooks');
    await page.locator('.page-head').getByRole('button', { name: 'Add a webhook' }).click();
    await field(page, 'Address').fill(receiver.url('/mail'));
    await page.getByRole('dialog').getByRole('button', { name: 'Add' }).click();
    const secret = (await page.getByTestId('secret').textContent()) ?? '';
    expect(secret).toMatch(/^whsec_/);
    await button(page, 'I have it').click();
    await heading(page, receiver.url('/mail')).waitFor();
    expect(await page.content()).not.toContain(secret);

    await button(page, 'Send a test').click();
    const row = page.getByRole('row', { name: /Webhook test/ });
    await row.getByText('HTTP status 500').waitFor();
    await row.getByRole('button', { name: /^Look/ }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByTestId('answer').waitFor();
    expect(await dialog.getByTestId('answer').textContent()).toBe(HOSTILE);
    expect(await dialog.textContent()).not.toContain('s3cret');
    await dialog.getByRole('tab', { name: 'Request' }).click();
    await dialog.getByText('"type": "webhook.test"').waitFor();
    expect(page.url()).toContain('delivery=');
    expect(await page.evaluate(`'pwned' in window`)).toBe(false);

    let letGo = () => {};
    const held = new Promise<void>((resolve) => (letGo = resolve));
    receiver.answer = () => held.then(() => ({ status: 204 }));
    await dialog.getByRole('button', { name: /^Send again/ }).click();
    // One that is being sent is not at its end: the dialog goes on asking.
    await dialog.getByText('Sending').waitFor();
    letGo();
    await dialog.getByText('Delivered').waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await page.waitForURL((url) => !url.search.includes('delivery='));
    await row.getByText('Delivered').waitFor();
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);

    await button(page, 'Rotate secret').click();
    await button(page, /^Rotate$/).click();
    expect(await page.getByTestId('secret').textContent()).not.toBe(secret);
    await button(page, 'I have it').click();
    await button(page, 'Replay').click();
    await page.getByRole('dialog').getByText('A replay cannot be stopped').waitFor();
    const from = await field(page, 'From').inputValue();
    await field(page, 'From').fill('');
    expect(await page.getByRole('dialog').getByRole('button', { name: 'Replay' }).isDisabled()).toBe(true);
    await field(page, 'From').fill(from);
    await page.getByRole('dialog').getByRole('button', { name: 'Replay' }).click();
    await page.getByText('The replay has begun').waitFor();
    await button(page, 'Disable').click();
    await page.getByText('Nothing is sent to it.').waitFor();
    await button(page, 'Remove').click();
    await button(page, 'Remove the webhook').click();
    await page.getByText('No webhooks yet').waitFor();
  });

  it('follows what is sent again in a list of which more is shown', async () => {
    const made = await scene.api().post('/v1/webhooks', { url: scene.receiver.url('/long'), events: ['*'] });
    const { id } = made.body.data;
    const page = await scene.signedIn();
    await page.clock.install();
    const at = new Date().toISOString();
    const delivery = { eventType: 'delivered', attempts: 1, createdAt: at, lastAttemptAt: at };
    let state = 'failed';
    await page.route(`**/v1/webhooks/${id}/deliveries?*`, (route) => {
      const isFirst = new URL(route.request().url()).searchParams.get('cursor') === null;
      const data = [{ ...delivery, id: isFirst ? 'one' : 'two', state: isFirst ? 'failed' : state }];
      return route.fulfill({ json: { data, pagination: { hasMore: isFirst, ...(isFirst && { nextCursor: 'x' }) } } });
    });
    await page.route(`**/deliveries/two/redeliver`, (route) => {
      state = 'pending';
      return route.fulfill({ json: { data: {} } });
    });
    await scene.visit(page, `/webhooks/${id}`);
    await button(page, 'Show more').click();
    const last = page.getByRole('row').last();
    await last.getByText('Failed').waitFor();
    await last.getByRole('button', { name: 'Send again' }).click();
    await last.getByText('Pending').waitFor();
    state = 'delivered';
    await page.clock.runFor(10_000);
    await last.locator('.badge').getByText('Delivered').waitFor();
    await scene.api().call('DELETE', `/v1/webhooks/${id}`);
  });

  it('writes a template, fills it in, makes a new version, and deletes it', async () => {
    const page = await scene.signedIn();
    await scene.visit(page, '/templates');
    await page.locator('.page-head').getByRole('link', { name: 'Write a template' }).click();
    await field(page, 'Name').fill('welcome');
    await field(page, 'Subject').fill('Welcome, {{ user.name }}');
    await field(page, 'HTML').fill('<p>Hello {{ user.name }');
    await page.getByRole('link', { name: 'Templates' }).first().click();
    await page.locator('.page-head').getByRole('link', { name: 'Write a template' }).click();
    await page.getByText('This is your earlier draft').waitFor();
    await button(page, 'Save').click();
    await page.locator('.field-error').waitFor();
    await field(page, 'HTML').fill('<p>Hello {{ user.name }}</p>');
    await button(page, 'Save').click();
    await heading(page, 'welcome').waitFor();

    await field(page, 'Variables (JSON)').fill('{"user":{"name":"<b>Ada</b>"}}');
    await button(page, 'Fill in').click();
    await heading(page, 'Welcome, <b>Ada</b>').waitFor();
    await page.getByRole('tab', { name: 'HTML' }).click();
    await page.getByText('<p>Hello &lt;b&gt;Ada&lt;/b&gt;</p>').waitFor();
    await field(page, 'Variables (JSON)').fill('{"user":{}}');
    await button(page, 'Fill in').click();
    await page.getByRole('alert').getByText('template_render_failed').waitFor();

    await field(page, 'Subject').fill('Good to see you, {{ user.name }}');
    await button(page, 'Save as a new version').click();
    await page.getByText('Version 2', { exact: true }).first().waitFor();
    await field(page, 'Subject').fill('Another');
    await page.getByRole('link', { name: 'Templates' }).first().click();
    await page.getByRole('link', { name: 'welcome' }).click();
    await button(page, 'Discard the draft').click();
    expect(await field(page, 'Subject').inputValue()).toBe('Good to see you, {{ user.name }}');
    await button(page, 'Delete').click();
    await field(page, 'Type welcome to confirm').fill('welcome');
    await button(page, 'Delete the template').click();
    await heading(page, 'Templates').waitFor();
    await waitFor(async () => (await scene.api().get('/v1/templates')).body.pagination.total === 0, {
      what: 'the deletion',
    });
  });

  it('finds a template among many by a part of its name', async () => {
    const many = await scene.tenants.create('many-templates.example');
    const page = await scene.signedIn(many.liveKey);
    await scene.db.query(
      `with added as (
         insert into templates select $1::uuid, gen_random_uuid(), 'letter-' || n, 1, now(), now() from generate_series(1, 120) as n
         returning *
       )
       insert into template_versions (organization_id, template_id, version, subject, text, variables, created_at)
       select organization_id, id, 1, 's', 't', '{}', now() from added`,
      [many.organizationId],
    );
    await scene.visit(page, '/templates?page=2');
    await page.getByText('120 templates · page 2 of 3').waitFor();
    await field(page, 'Name').fill('TER-11');
    await field(page, 'Name').press('Enter');
    await page.getByText('11 templates').waitFor();
    await page.getByRole('link', { name: 'letter-117' }).click();
    await heading(page, 'letter-117').waitFor();
    await page.goBack();
    await page.getByText('11 templates').waitFor();
    expect(await field(page, 'Name').inputValue()).toBe('TER-11');
    await field(page, 'Name').fill('receipt');
    await field(page, 'Name').press('Enter');
    await heading(page, 'No matching templates').waitFor();
    await field(page, 'Name').press('Escape');
    await page.getByText('120 templates').waitFor();
  });

  it('keeps a secret until the user has it, though the page is left while it is made', async () => {
    const page = await scene.signedIn();
    await scene.visit(page, '/emails');
    await scene.turnTo(page, '/keys');
    await button(page, 'Create a key').first().click();
    await field(page, 'Name').fill('Made on the way out');
    let letGo = () => {};
    const held = new Promise<void>((resolve) => (letGo = resolve));
    await page.route('**/v1/api-keys', async (route) => {
      if (route.request().method() === 'POST') await held;
      await route.continue();
    });
    await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
    await page.goBack();
    await heading(page, 'Emails').waitFor();
    letGo();
    const key = (await page.getByTestId('secret').textContent()) ?? '';
    expect(key).toMatch(/^wb_live_/);
    await page.goForward();
    await page.locator('h1', { hasText: 'API keys' }).waitFor();
    expect(await page.getByTestId('secret').textContent()).toBe(key);
    // It is in no storage: so the browser asks before the tab forgets it.
    expect(await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }])')).not.toContain(key);
    page.removeAllListeners('dialog');
    const asked = page.waitForEvent('dialog');
    await page.close({ runBeforeUnload: true });
    const question = await asked;
    expect(question.type()).toBe('beforeunload');
    await question.dismiss();
    expect(await page.getByTestId('secret').textContent()).toBe(key);
    await button(page, 'I have it').click();
    expect(await page.content()).not.toContain(key);
    // Nothing is asked any more.
    await page.reload();
    await heading(page, 'API keys').waitFor();
  });

  it('shows all of many domains, and what is wrong with them in one sentence', async () => {
    const { organizationId, domainId, liveKey } = await scene.tenants.create('many.example');
    await scene.db.query(
      `insert into domains
       select (jsonb_populate_record(d, jsonb_build_object(
         'id', gen_random_uuid(), 'domain', 'customer' || n || '.example', 'is_default', false,
         'verification_status', case when n > 203 then 'failed' else 'pending' end
       ))).*
       from domains d, generate_series(1, 205) n
       where d.organization_id = $1 and d.id = $2`,
      [organizationId, domainId],
    );
    const page = await scene.signedIn(liveKey);
    await scene.visit(page, '/');
    const notices = page.getByLabel('What needs attention').locator('.notice');
    await notices.getByText('203 domains are not verified yet').waitFor();
    // The worst first.
    expect(await notices.count()).toBe(3);
    expect(await notices.first().textContent()).toContain('is no longer verified');
    await page.getByRole('link', { name: 'See the domains' }).click();
    await page.getByText('203 domains · page 1 of 3').waitFor();
    const search = page.getByLabel('Name', { exact: true });
    await search.fill('mer17');
    await search.press('Enter');
    await page.getByText('11 domains').waitFor();
    await search.fill('none');
    await search.press('Enter');
    await page.getByText('No matching domains').waitFor();
    await search.press('Escape');
    await page.getByLabel('Ownership').selectOption('');
    await page.getByText('206 domains · page 1 of 3').waitFor();
    await button(page, 'Next').click();
    await button(page, 'Next').click();
    await page.getByText('206 domains · page 3 of 3').waitFor();
    await page.locator('[aria-busy="true"]').waitFor({ state: 'detached' });
    expect(await page.getByRole('link', { name: /^customer\d+\.example$/ }).count()).toBeGreaterThanOrEqual(5);
    await scene.db.query(
      `update domains set sending_status = 'paused', sending_status_reason = 'bounces'
       where organization_id = $1 and domain like 'customer10_.example'`,
      [organizationId],
    );
    await scene.visit(page, '/');
    const restricted = notices.filter({ hasText: '10 domains are paused or slowed' });
    await restricted.getByRole('link', { name: 'See the domains' }).click();
    await page.getByText('10 domains', { exact: true }).waitFor();
    expect(await page.getByRole('row', { name: /Paused/ }).count()).toBe(10);
    expect(await page.getByLabel('Sending').inputValue()).toBe('true');
    await scene.visit(page, '/emails');
    await page.getByLabel('Domain').waitFor();
    expect(await page.getByLabel('Domain').getByRole('option').count()).toBe(207);
  });

  it('cuts long addresses and subjects off, and not what stands beside them', async () => {
    const { liveKey } = await scene.tenants.create('long.example');
    const to = [`${'n'.repeat(60)}@a-destination-with-a-very-long-name.example.net`];
    await scene.api(liveKey).send({ from: 'hello@long.example', to, subject: 'x'.repeat(300) });
    const page = await scene.signedIn(liveKey);
    await scene.visit(page, '/emails');
    await page.locator('tbody tr').waitFor();
    const hidden = `(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('.table-wrap'))`;
    expect(await page.evaluate(hidden)).toBe(0);
    // On a tablet too.
    await page.setViewportSize({ width: 768, height: 900 });
    expect(await page.evaluate(hidden)).toBe(0);
  });
}
