import { readFile } from 'node:fs/promises';
import type { Page, Route } from 'playwright-core';
import { insertInboundEmail } from '../../factories/inbound-emails';
import type { Scope } from '../../../src/common/http/scopes';
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
    await dialog.getByText('Its owner has unsubscribed').waitFor();
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
    await dialog.getByText('Its owner has unsubscribed').waitFor();
    await page.keyboard.press('Escape');
    await scene.db.query(
      `update suppressions set reason = 'hard_bounce' where email = $1 and reason = 'unsubscribe' and mode = 'live'`,
      [email],
    );
    await button(page, `Remove ${email}`).first().click();
    await dialog.getByText('Its server said that it does not exist').waitFor();
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
    await page.getByText('This is your earlier draft').waitFor();
    expect(await field(page, 'Subject').inputValue()).toBe('Typed meanwhile');
  });

  it('names the version that is filled in, and shows the last answer', async () => {
    const made = await scene
      .api()
      .post('/v1/templates', { name: 'filled', subject: 'Hello {{ name }}', html: '<p>x</p>' });
    const path = `/templates/${made.body.data.id}`;
    const page = await scene.signedIn();
    await scene.visit(page, path);
    await heading(page, 'Preview of version 1').waitFor();
    const variables = field(page, 'Variables (JSON)');
    const slow = await hold(page, '**/render', (route) => (route.request().postData() ?? '').includes('Slow'));
    await variables.fill('{"name":"Slow"}');
    await button(page, 'Fill in').click();
    await waitFor(() => slow.waiting() > 0, { what: 'the first request' });
    await variables.fill('{"name":"Quick"}');
    await button(page, 'Fill in').click();
    await heading(page, 'Hello Quick').waitFor();
    const late = page.waitForResponse((response) => response.url().endsWith('/render'));
    await slow.release();
    await (await late).finished();
    await field(page, 'Subject').fill('Hello {{ name }} of {{ town.name }}');
    await button(page, 'Save as a new version').click();
    await heading(page, 'Preview of version 2').waitFor();
    expect(JSON.parse(await variables.inputValue())).toEqual({ name: 'Quick', town: { name: 'name' } });
    expect(await heading(page, 'Hello Slow').count()).toBe(0);
    await button(page, 'Fill in').click();
    await heading(page, 'Hello Quick of name').waitFor();
  });

  it('shows a new key before the list is loaded again, until the user has it', async () => {
    const page = await scene.signedIn();
    await scene.visit(page, '/keys');
    await button(page, 'Create a key').click();
    await field(page, 'Name').fill('Shown at once');
    const list = await hold(page, '**/v1/api-keys', isGet);
    await dialogOf(page).getByRole('button', { name: 'Create' }).click();
    await waitFor(() => list.waiting() > 0, { what: 'the list to be loaded again' });
    await page.getByTestId('secret').waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await page.getByTestId('secret').waitFor();
    // What is said while a dialog is open is said within it: the rest of the page is covered.
    await dialogOf(page).getByRole('button', { name: 'Copy' }).click();
    await dialogOf(page)
      .getByRole('status')
      .getByText(/Copied the key|does not let this page copy/)
      .waitFor();
    await button(page, 'I have it').click();
    await list.release();
    await page.getByText('Shown at once').waitFor();
  });

  it('shows the secret of a new webhook before the list is loaded again', async () => {
    const page = await scene.signedIn();
    await scene.visit(page, '/webhooks');
    await page.locator('.page-head').getByRole('button', { name: 'Add a webhook' }).click();
    await field(page, 'Address').fill(scene.receiver.url('/at-once'));
    const list = await hold(page, '**/v1/webhooks', isGet);
    await dialogOf(page).getByRole('button', { name: 'Add' }).click();
    await waitFor(() => list.waiting() > 0, { what: 'the list to be loaded again' });
    expect(await page.getByTestId('secret').textContent()).toMatch(/^whsec_/);
    await list.release();
    await button(page, 'I have it').click();
    await button(page, 'Remove').click();
    await button(page, 'Remove the webhook').click();
    await heading(page, 'Webhooks').waitFor();
  });

  it('keeps the report of an import, and says how many of the refused lines a file names', async () => {
    const page = await scene.signedIn();
    await scene.visit(page, '/suppressions');
    await button(page, 'Import CSV').click();
    const lines = Array.from({ length: 150 }, (_, index) => `no address ${index},manual,`);
    await page
      .getByLabel('File', { exact: true })
      .setInputFiles({ name: 'list.csv', mimeType: 'text/csv', buffer: Buffer.from(lines.join('\n')) });
    const importing = await hold(page, '**/v1/suppressions/import');
    await button(page, /^Import$/).click();
    await waitFor(() => importing.waiting() > 0, { what: 'the import to be under way' });
    expect(await button(page, 'Close').isDisabled()).toBe(true);
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await importing.release();
    await page.getByText('0 added, 150 refused').waitFor();
    const download = page.waitForEvent('download');
    await button(page, 'Download the first 100 refused').click();
    const file = await readFile(await (await download).path(), 'utf8');
    expect(file.trim().split('\r\n')).toHaveLength(102);
    expect(file).toContain('50 more lines were refused');
    // The corrected file has the same name: the browser tells of it only where the field holds none.
    const chooser = page.waitForEvent('filechooser');
    await page.getByLabel('File', { exact: true }).click();
    expect(await page.getByLabel('File', { exact: true }).inputValue()).toBe('');
    await page.getByText('0 added, 150 refused').waitFor();
    const corrected = { name: 'list.csv', mimeType: 'text/csv', buffer: Buffer.from('corrected@x.example') };
    await (await chooser).setFiles(corrected);
    await button(page, /^Import$/).click();
    await page.getByText('1 added, 0 refused').waitFor();
  });

  it('imports a file as Excel writes it, and says what to do with one that is no text', async () => {
    const page = await scene.signedIn();
    await scene.visit(page, '/suppressions');
    await button(page, 'Import CSV').click();
    const choose = (buffer: Buffer) =>
      page.getByLabel('File', { exact: true }).setInputFiles({ name: 'list.txt', mimeType: 'text/plain', buffer });
    const text = 'Email\tReason\tNotes\r\nexcel@x.example\tmanual\tJürgen, by phone\r\n';
    await choose(Buffer.from('a@x.example,manual,J\xfcrgen', 'latin1'));
    await button(page, /^Import$/).click();
    await page.getByRole('alert').getByText('Save it as “CSV UTF-8”').waitFor();
    await choose(Buffer.from(`\ufeff${text}`, 'utf16le'));
    await button(page, /^Import$/).click();
    await page.getByText('1 added, 0 refused').waitFor();
    await button(page, 'Close').click();
    await page.getByRole('row', { name: 'excel@x.example' }).getByText('Jürgen, by phone').waitFor();
  });

  it('says that a file has no addresses', async () => {
    const page = await scene.signedIn();
    await scene.visit(page, '/suppressions');
    await button(page, 'Import CSV').click();
    await page
      .getByLabel('File', { exact: true })
      .setInputFiles({ name: 'list.csv', mimeType: 'text/csv', buffer: Buffer.from('email,reason,notes\n') });
    await button(page, /^Import$/).click();
    await page.getByText('There are no addresses in this file').waitFor();
  });

  it('leaves the focus at the button while it is busy, and takes it to the first field that is refused', async () => {
    const page = await scene.signedIn();
    await scene.visit(page, '/domains');
    await page.locator('.page-head').getByRole('button', { name: 'Add a domain' }).click();
    await field(page, 'Domain').fill('co.uk');
    const adding = await hold(page, '**/v1/domains', (route) => !isGet(route));
    const add = dialogOf(page).getByRole('button', { name: 'Add' });
    await add.focus();
    await page.keyboard.press('Enter');
    await waitFor(() => adding.waiting() > 0, { what: 'the request to be under way' });
    const focused = () => page.evaluate(`document.activeElement?.textContent || document.activeElement?.tagName`);
    expect(await focused()).toBe('Add');
    await page.keyboard.press('Enter');
    await field(page, 'Domain').press('Enter');
    await add.focus();
    await adding.release();
    await dialogOf(page).locator('.field-error').waitFor();
    await waitFor(async () => (await focused()) === 'INPUT', { what: 'the focus at the field' });
    // Neither Enter has sent it once more.
    expect(adding.waiting()).toBe(1);
  });

  it('follows no link of a previewed mail, and shows an error of the preview as a page', async () => {
    const html = `<p><a title=">" href="https://links.example/a">A link</a></p>
      <svg width="200" height="40"><a xlink:href="https://links.example/b"><text y="20">A drawing</text>
        <animate attributeName="href" to="https://links.example/c" begin="0s" fill="freeze" /></a></svg>`;
    const id = await scene.api().send({ from: 'hello@acme.example', to: ['ada@example.com'], subject: 'Linked', html });
    const page = await scene.signedIn();
    const outside: string[] = [];
    page.on('request', (request) => {
      if (new URL(request.url()).host !== new URL(scene.base).host) outside.push(request.url());
    });
    await scene.visit(page, `/emails/${id}`);
    const frame = page.frameLocator('iframe');
    await frame.getByText('A link').click();
    await frame.getByText('A drawing').click();
    // A link that is followed replaces the mail.
    await frame.getByText('A link').click();
    expect(outside).toEqual([]);

    const missing = `${scene.base}/console/preview/018f0000-0000-7000-8000-000000000000`;
    const asFrame = await page.context().request.get(missing, { headers: { accept: 'text/html,*/*;q=0.8' } });
    expect([asFrame.status(), asFrame.headers()['content-type']]).toEqual([404, 'text/html; charset=utf-8']);
    expect(await asFrame.text()).toMatch(/<h1>Email not found<\/h1>/);
    expect(asFrame.headers()['content-security-policy']).toContain("sandbox; frame-ancestors 'self'");
    // Guards refuse, before the route has begun.
    const unknown = await fetch(missing, { headers: { accept: 'text/html' } });
    expect([unknown.status, unknown.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
    expect(await unknown.text()).toContain('<code>invalid_api_key</code>');
    const asProgram = await page.context().request.get(missing, { headers: { accept: '*/*' } });
    expect(await asProgram.json()).toMatchObject({ error: { code: 'resource_not_found' } });
  });

  it('forgets what has been deleted: going back does not show it', async () => {
    const { organizationId, domainId } = scene.acme;
    const id = await insertInboundEmail(scene.db, { organizationId, domainId });
    const page = await scene.signedIn();
    await scene.visit(page, `/inbound/${id}`);
    await button(page, 'Delete').click();
    await button(page, 'Delete the mail').click();
    await heading(page, 'Inbound mail').waitFor();
    await page.getByText('The mail is deleted').waitFor();
    await page.goBack();
    await page.getByText('Inbound email not found').waitFor();
    expect(await button(page, 'Delete').count()).toBe(0);
  });

  it('drops what a verification has found once the domain has another state', async () => {
    const { domainId } = scene.acme;
    const page = await scene.signedIn();
    const { data: domain } = (await scene.api().get(`/v1/domains/${domainId}`)).body;
    let status = 'pending';
    await page.route(`**/v1/domains/${domainId}`, (route) =>
      route.fulfill({ json: { data: { ...domain, verification_status: status } } }),
    );
    await page.route('**/verify', (route) =>
      route.fulfill({
        json: { data: { success: false, status, errors: ['Nothing is there'], records: domain.records } },
      }),
    );
    await scene.visit(page, `/domains/${domainId}`);
    await button(page, 'Verify now').click();
    await page.getByText('Nothing is there').waitFor();
    status = 'verified';
    // As when a window is returned to, for which the page asks for news again.
    await waitFor(
      async () => {
        await page.evaluate(`window.dispatchEvent(new Event('visibilitychange'))`);
        return (await page.getByText('Nothing is there').count()) === 0;
      },
      { what: 'the present state' },
    );
  });

  it('shows keys of one domain, and test keys, only what they may use', async () => {
    const { domainId } = scene.acme;
    const manage: Scope[] = [
      'domain:manage',
      'template:manage',
      'suppression:read',
      'suppression:manage',
      'privacy:read',
    ];
    const bound = await scene.signedIn(await scene.acme.key('live', manage, domainId));
    await scene.visit(bound, '/domains');
    const names = (page: Page) => page.getByRole('navigation', { name: 'Pages' }).getByRole('link').allTextContents();
    expect(await names(bound)).toEqual(expect.not.arrayContaining(['Templates', 'Suppressions', 'Privacy']));
    expect(await button(bound, 'Add a domain').count()).toBe(0);
    for (const path of ['/templates', '/templates/new', '/suppressions', '/privacy']) {
      await scene.turnTo(bound, path);
      await bound.getByText('It is bound to one domain').waitFor();
    }
    await scene.visit(bound, `/domains/${domainId}`);
    await button(bound, 'Verify now').waitFor();
    const test = await scene.signedIn(await scene.acme.key('test', manage));
    await scene.visit(test, '/domains');
    expect(await names(test)).toEqual(expect.arrayContaining(['Templates', 'Suppressions', 'Privacy']));
    expect(await button(test, 'Add a domain').count()).toBe(0);
    await scene.visit(test, `/domains/${domainId}`);
    expect(await button(test, /Verify now|Rotate|Remove/).count()).toBe(0);
    await scene.visit(test, '/suppressions');
    await button(test, 'Add an address').waitFor();
  });

  it('closes the menu of a narrow window with Escape', async () => {
    const page = await scene.signedIn();
    await page.setViewportSize({ width: 360, height: 740 });
    await scene.visit(page, '/keys');
    await button(page, 'Menu').click();
    const link = page.getByRole('link', { name: 'Statistics' });
    await link.waitFor();
    await link.focus();
    await page.keyboard.press('Escape');
    await link.waitFor({ state: 'hidden' });
    expect(await page.evaluate(`document.activeElement?.textContent`)).toBe('Menu');
  });

  it('counts what waits for a destination beyond the largest shares, and sets a limit that equals the present one', async () => {
    const page = await scene.signedIn(await scene.tenants.operatorKey());
    const key = 'mx1.far.example';
    const destination = {
      ...{
        key,
        mxHosts: [key],
        domains: ['far.example', 'near.example'],
        state: 'open',
        maxConnections: 20,
        active: 0,
      },
      ...{ rules: [], lastHour: { delivered: 0, deferred: 0, bounced: 0 } },
    };
    const changes: unknown[] = [];
    await page.route(`**/operator/v1/destinations/${key}`, (route) => {
      if (!isGet(route)) changes.push(route.request().postDataJSON());
      return route.fulfill({ json: { data: destination } });
    });
    const numbers = { ready: 1, waiting: 0, claimed: 0, held: 0 };
    const shares = Array.from({ length: 499 }, (_, index) => ({ key: `d${index}.example`, ...numbers, ready: 9 }));
    await page.route('**/operator/v1/queue?*', (route) =>
      route.fulfill({ json: { data: [...shares, { key: 'near.example', ...numbers }] } }),
    );
    await page.route('**/operator/v1/queue/deliveries?*', (route) => {
      const wanted = new URL(route.request().url()).searchParams.get('destination');
      return route.fulfill({ json: { data: wanted === 'far.example' ? [{}, {}] : [] } });
    });
    await page.route('**/operator/v1/destinations?*', (route) =>
      route.fulfill({ json: { data: [destination], pagination: { total: 1, totalPages: 1 } } }),
    );
    await scene.visit(page, '/destinations');
    // One request for all rows of the list does not say how much waits beyond the largest shares.
    await page.getByRole('row', { name: key }).getByRole('cell', { name: '≥ 1', exact: true }).waitFor();
    await page.getByRole('link', { name: key }).click();
    await page.locator('.figure').filter({ hasText: 'In the queue' }).getByText('3', { exact: true }).waitFor();
    await button(page, 'Pause').click();
    await dialogOf(page).getByText('3 open deliveries are for it now').waitFor();
    await page.keyboard.press('Escape');
    await button(page, 'Limit').click();
    expect(await field(page, 'Connections at a time').inputValue()).toBe('');
    await dialogOf(page).getByText('In force now: 20.').waitFor();
    await field(page, 'Connections at a time').fill('20');
    await field(page, 'Reason').fill('As it is');
    await dialogOf(page).getByRole('button', { name: 'Limit' }).click();
    await dialogOf(page).waitFor({ state: 'detached' });
    expect(changes).toEqual([{ maxConnections: 20, reason: 'As it is' }]);
  });

  it('changes only what was changed here, whatever someone else has changed meanwhile', async () => {
    const made = await scene.api().post('/v1/webhooks', { url: scene.receiver.url('/before'), events: ['*'] });
    const path = `/v1/webhooks/${made.body.data.id}`;
    const page = await scene.signedIn();
    await scene.visit(page, `/webhooks/${made.body.data.id}`);
    await button(page, 'Change').click();
    await field(page, 'Description').fill('Ours');
    // What is as it was before has not been changed.
    const every = page.getByLabel('All, including future ones');
    await every.uncheck();
    await every.check();
    await scene.api().call('PATCH', path, { url: scene.receiver.url('/theirs'), events: ['bounced'] });
    await dialogOf(page).getByRole('button', { name: 'Save' }).click();
    await dialogOf(page).waitFor({ state: 'detached' });
    const { body } = await scene.api().get(path);
    expect(body.data).toMatchObject({ url: scene.receiver.url('/theirs'), events: ['bounced'], description: 'Ours' });
    await scene.api().call('DELETE', path);

    const key = await scene.tenants.operatorKey();
    const operator = scene.api(key);
    const name = 'Two operators';
    const { id } = (await operator.post('/operator/v1/organizations', { name })).body.data;
    const desk = await scene.signedIn(key);
    await scene.visit(desk, '/organizations');
    await button(desk, `Limits of ${name}`).click();
    await field(desk, 'Weight').fill('7');
    await operator.call('PATCH', `/operator/v1/organizations/${id}`, { monthlyRecipients: 1_000 });
    await dialogOf(desk).getByRole('button', { name: 'Save' }).click();
    await desk.getByText(`The limits of ${name} hold`).waitFor();
    const organization = (await operator.get(`/operator/v1/organizations/${id}`)).body.data;
    expect(organization).toMatchObject({ weight: 7, monthlyRecipients: 1_000 });
  });
}
