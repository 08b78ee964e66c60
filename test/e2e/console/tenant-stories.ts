import { waitFor } from '../../setup/wait-for';
import { button, type ConsoleScene, field, heading } from './console-scene';

/** What people come for, each from its beginning to its end. */
export function tenantStories(sceneOf: () => ConsoleScene): void {
  let scene: ConsoleScene;
  beforeAll(() => {
    scene = sceneOf();
  });

  const sent = (subject: string, fields: object = {}) =>
    scene.api().send({ from: 'hello@acme.example', to: ['ada@example.com'], subject, ...fields });

  it('signs in with a key and out again, and keeps the key nowhere', async () => {
    // One of its own: the other tests go on in the sessions of theirs.
    const key = await scene.acme.key('live', ['email:read']);
    const page = await scene.open();
    await page.goto(`${scene.base}/console/emails`);
    await page.getByLabel('API key').fill('wb_live_nothing');
    await button(page, 'Sign in').click();
    await page.getByText('The API key is missing or not valid').waitFor();
    expect(await page.getByRole('alert').textContent()).toContain('invalid_api_key');
    await page.getByLabel('API key').fill(key);
    await button(page, 'Sign in').click();
    await heading(page, 'Emails').waitFor();
    const kept = await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])');
    expect(kept).not.toContain(key);
    expect(kept).not.toContain('waybill=');
    await button(page, 'Sign out everywhere').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Sign out' }).click();
    await heading(page, 'Sign in').waitFor();
    await page.reload();
    await heading(page, 'Sign in').waitFor();
  });

  it('signs in by a link, in a page that is open already too, and never replaces another session without a question', async () => {
    const link = () => scene.tenants.signInLink(scene.acme.organizationId);
    const page = await scene.open();
    await page.goto(`${scene.base}/console`);
    await heading(page, 'Sign in').waitFor();
    // The same page with something else behind the #: nothing is loaded anew.
    const first = await link();
    await page.goto(scene.base + first);
    await heading(page, 'Overview').waitFor();
    expect(page.url()).not.toContain('link=');
    await page.goto(scene.base + (await link()));
    await heading(page, 'Sign in with the link?').waitFor();
    await button(page, 'Stay signed in').click();
    await heading(page, 'Overview').waitFor();
    await page.goto(scene.base + first);
    await button(page, 'Sign in with the link').click();
    await page.getByText('This sign-in link has been used').waitFor();
    await heading(page, 'Overview').waitFor();
    await button(page, /^Sign out$/).click();
    await heading(page, 'Sign in').waitFor();
    await page.goto(scene.base + first);
    await page.getByRole('alert').getByText('This sign-in link has been used').waitFor();
  });

  it('shows in every tab who is signed in: another tab may have changed that', async () => {
    const other = await scene.tenants.create('other.example');
    const page = await scene.open();
    await page.goto(scene.base + (await scene.tenants.signInLink(scene.acme.organizationId)));
    await page.getByRole('link', { name: 'Domains' }).first().click();
    await page.getByText('acme.example').first().waitFor();
    const second = await page.context().newPage();
    await second.goto(scene.base + (await scene.tenants.signInLink(other.organizationId)));
    await button(second, 'Sign in with the link').click();
    await heading(second, 'Overview').waitFor();
    await page.getByText('other.example').first().waitFor();
    expect(await page.getByText('acme.example').count()).toBe(0);
    await button(second, /^Sign out$/).click();
    await heading(page, 'Sign in').waitFor();
    await second.close();
  });

  it('shows the other pages after one that could not be loaded', async () => {
    const page = await scene.signedIn();
    await scene.visit(page, '/');
    await page.route('**/console/assets/*', (route) => route.abort());
    await page.getByRole('link', { name: 'Webhooks' }).first().click();
    await page.getByText('Something went wrong').waitFor();
    await page.unroute('**/console/assets/*');
    await page.getByRole('link', { name: 'Domains' }).first().click();
    await heading(page, 'Domains').waitFor();
    // The browser has logged the script that did not come.
    expect(scene.complaints.splice(0).join()).toContain('dynamically imported module');
  });

  it('shows the result of an export that waited for its turn when it is there', async () => {
    const { body } = await scene.api().post('/v1/gdpr/export', { email: 'waits@example.com', format: 'json' });
    const path = `/v1/gdpr/export/${body.data.requestId}`;
    const isDone = async () => (await scene.api().get(path)).body.data.status === 'completed';
    await waitFor(isDone, { what: 'the export to end' });
    const page = await scene.signedIn();
    await scene.visit(page, '/privacy');
    await page.route(
      `**${path}`,
      async (route) => {
        const response = await route.fetch();
        const { data } = (await response.json()) as { data: object };
        await route.fulfill({ response, json: { data: { ...data, status: 'pending', itemCounts: undefined } } });
      },
      { times: 1 },
    );
    await button(page, 'Result for waits@example.com').click();
    await page.getByRole('dialog').getByText('Pending').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Download' }).waitFor();
  });

  it('tells a content that could not be read from one that is not kept any more', async () => {
    const id = await sent('Its content');
    const page = await scene.signedIn();
    await page.route(`**/v1/emails/${id}/content`, (route) => route.fulfill({ status: 503, body: '{}' }), { times: 1 });
    await scene.visit(page, `/emails/${id}`);
    await page.getByText('The service responded with status 503').waitFor();
    expect(await page.getByText('The content is no longer stored').count()).toBe(0);
    await button(page, 'Try again').click();
    await page.getByRole('tab', { name: 'Text' }).waitFor();
    await page.route(`**/v1/emails/${id}/content`, (route) => route.fulfill({ status: 404, body: '{}' }));
    await scene.visit(page, `/emails/${id}`);
    await page.getByText('The content is no longer stored').waitFor();
  });

  it('says of data that it could not be loaded again', async () => {
    await sent('An email in a list');
    const page = await scene.signedIn();
    await scene.visit(page, '/emails');
    const row = page.getByText('An email in a list').first();
    const before = (await row.boundingBox())?.y ?? NaN;
    await page.route('**/v1/emails?*', (route) => route.fulfill({ status: 503, body: '{}' }));
    const notice = page.getByText('Not up to date.');
    await notice.waitFor();
    // It is seen, and moves no row up or down, which somebody may be about to click. A column may grow with a new status.
    expect((await row.boundingBox())?.y).toBe(before);
    const { y, height } = (await notice.boundingBox()) ?? { y: NaN, height: NaN };
    expect(y + height).toBeLessThanOrEqual(page.viewportSize()?.height ?? NaN);
    await page.unroute('**/v1/emails?*');
    await page.getByText('Not up to date.').waitFor({ state: 'detached' });
  });

  it('sends a test mail and follows it to its end', async () => {
    const page = await scene.signedIn();
    await scene.visit(page, '/send');
    await field(page, 'To').fill('grace@example.org');
    await field(page, 'Subject').fill('A test of the console');
    await button(page, /^Send$/).click();
    await heading(page, 'A test of the console').waitFor();
    await page.locator('.page-head').getByText('Delivered').waitFor();
    await page.getByText('Accepted and stored').waitFor();
    await page.getByText("Accepted by the recipient's server").waitFor();
    const frame = page.frameLocator('iframe');
    expect(await frame.getByRole('heading', { name: 'It works' }).textContent()).toBe('It works');
    const first = page.url();
    await button(page, 'Send as new').click();
    await page.getByRole('dialog').getByText('1 recipient will receive it once more').waitFor();
    await button(page, 'Send it again').click();
    await page.getByText('Sent again from').waitFor();
    expect(page.url()).not.toBe(first);
    await page.locator('.page-head').getByText('Delivered').waitFor();
  });

  it('lists emails, live, and is used with the keyboard alone', async () => {
    const ids = [await sent('First of three'), await sent('Second of three')];
    const page = await scene.signedIn();
    await scene.visit(page, '/emails');
    await page.getByText('Second of three').waitFor();
    ids.push(await sent('Third of three'));
    await page.getByText('Third of three').waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await page.keyboard.press('k');
    await page.keyboard.press('j');
    // What has been chosen does not jump when there is more.
    const rows = () => page.getByRole('row').allTextContents();
    const before = (await rows()).length;
    await sent('One more, which waits');
    await button(page, 'Show 1 new email').waitFor();
    expect([(await rows()).length, (await rows()).join().includes('One more')]).toEqual([before, false]);
    await page.keyboard.press('Enter');
    await heading(page, 'Second of three').waitFor();
    expect(page.url()).toContain(ids[1]);
    await page.goBack();
    await heading(page, 'Emails').waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('second OF');
    await page.keyboard.press('Enter');
    await page.getByText('1 email', { exact: true }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByText('Third of three').waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('nobody@example.com');
    await page.keyboard.press('Enter');
    await page.getByText('No matching emails').waitFor();
    expect(page.url()).toContain('q=nobody');
    await page.keyboard.press('Escape');
    await page.getByText('Third of three').waitFor();
    await page.keyboard.press('/');
    // Pasted, as people do.
    await page.keyboard.insertText(ids[0] ?? '');
    await page.keyboard.press('Enter');
    await heading(page, 'First of three').waitFor();
  });

  it('shows the emails of the present filter while the mouse rests on a row, and a way back from a page that is not there', async () => {
    await Promise.all(['Kept in view', 'Not asked for'].map((subject) => sent(subject)));
    const page = await scene.signedIn();
    await scene.visit(page, '/emails');
    await page.getByText('Not asked for').hover();
    await page.keyboard.press('/');
    await page.keyboard.type('kept in');
    await page.keyboard.press('Enter');
    await page.getByText('1 email', { exact: true }).waitFor();
    await page.getByText('Not asked for').waitFor({ state: 'detached' });
    await scene.visit(page, '/emails?page=99');
    await page.getByText('The list ends before this page').waitFor();
    await button(page, 'Previous').click();
    await page.getByText('Kept in view').waitFor();
  });

  it('keeps a dialog open until its result is there', async () => {
    const page = await scene.signedIn();
    await scene.visit(page, '/keys');
    let goOn: (() => void) | undefined;
    await page.route('**/v1/api-keys', async (route) => {
      if (route.request().method() !== 'POST') return route.continue();
      await new Promise<void>((resolve) => (goOn = resolve));
      return route.continue();
    });
    await button(page, 'Create a key').click();
    await field(page, 'Name').fill('Made while someone presses Escape');
    await button(page, /^Create$/).click();
    await waitFor(() => goOn, { what: 'the request to be under way' });
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    goOn?.();
    await page.getByTestId('secret').waitFor();
    await page.unroute('**/v1/api-keys');
  });

  it('says why an email waits, and cancels it after asking', async () => {
    const id = await sent('For tomorrow', { scheduledAt: new Date(Date.now() + 86_400_000).toISOString() });
    const page = await scene.signedIn();
    await scene.visit(page, `/emails/${id}`);
    const why = page.getByRole('region', { name: 'Why it waits' });
    await why.getByText('It waits for its time.').waitFor();
    await why.getByText(/It is sent tomorrow, .*Until then it can be cancelled\..*It expires/).waitFor();
    await button(page, 'Cancel').click();
    await page.getByRole('dialog').getByText('This cannot be undone').waitFor();
    await page.keyboard.press('Escape');
    await button(page, 'Cancel').click();
    await button(page, 'Cancel the email').click();
    await page.getByRole('listitem').getByText('Cancelled', { exact: true }).waitFor();
    expect(await scene.api().email(id)).toMatchObject({ status: 'failed' });
  });

  it('adds a domain, shows its records, and names the missing ones', async () => {
    const page = await scene.signedIn();
    await scene.visit(page, '/domains');
    await button(page, 'Add a domain').click();
    await field(page, 'Domain').fill('co.uk');
    await page.getByRole('dialog').getByRole('button', { name: 'Add' }).click();
    await page.getByRole('dialog').locator('.field-error').waitFor();
    await field(page, 'Domain').fill('mail.shop.example');
    await page.getByRole('dialog').getByRole('button', { name: 'Add' }).click();
    await heading(page, 'mail.shop.example').waitFor();
    await page.getByText('_waybill.mail.shop.example', { exact: true }).waitFor();
    await button(page, 'Verify now').click();
    await page.getByText('The domain is not verified.').waitFor();
    await button(page, 'Remove').click();
    const remove = button(page, 'Remove the domain');
    expect(await remove.isDisabled()).toBe(true);
    await field(page, 'Type mail.shop.example to confirm').fill('mail.shop.example');
    await remove.click();
    await heading(page, 'Domains').waitFor();
  });

  it('says how many domains a filter does not offer, and leads to their emails and statistics', async () => {
    const { domainId } = scene.acme;
    const { data: domain } = (await scene.api().get(`/v1/domains/${domainId}`)).body;
    const page = await scene.signedIn();
    await page.route('**/v1/domains?*', (route) => {
      const first = Number(new URL(route.request().url()).searchParams.get('cursor') ?? 0);
      const data = Array.from({ length: 100 }, (_, n) => ({
        ...domain,
        id: `d${first + n}`,
        domain: `d${first + n}.example`,
      }));
      return route.fulfill({ json: { data, total: 2_000, nextCursor: String(first + 100) } });
    });
    await scene.visit(page, '/emails');
    const filter = field(page, 'Domain');
    await filter.locator('option').nth(1_001).waitFor({ state: 'attached' });
    const last = filter.locator('option').last();
    expect([await last.textContent(), await last.isDisabled()]).toEqual([expect.stringMatching(/^1,000 more/), true]);
    await scene.visit(page, `/domains/${domainId}`);
    await page.getByRole('link', { name: 'its statistics' }).click();
    await heading(page, 'Statistics').waitFor();
    expect(await field(page, 'Domain').inputValue()).toBe(domainId);
    await page.goBack();
    await page.getByRole('link', { name: 'its emails' }).click();
    await heading(page, 'Emails').waitFor();
    expect(new URL(page.url()).search).toBe(`?domain=${domainId}`);
  });

  it('shows the found MX record beside the required one', async () => {
    await scene.api().post('/v1/inbound-routes', { address: 'support@in.acme.example' });
    const { data: domain } = (await scene.api().get(`/v1/domains/${scene.acme.domainId}`)).body;
    const records = domain.records.map((record: { purpose: string }) =>
      record.purpose === 'inbound'
        ? { ...record, problem: 'It names another host', found: ['10 mx.elsewhere.example'] }
        : record,
    );
    const page = await scene.signedIn();
    await page.route('**/verify', (route) =>
      route.fulfill({ json: { data: { success: true, errors: ['It names another host'], records } } }),
    );
    await scene.visit(page, `/domains/${scene.acme.domainId}`);
    const row = page.getByRole('row', { name: /in\.acme\.example/ });
    await row.getByText('priority: 10').waitFor();
    await row.getByText('Not found').waitFor();
    await button(page, 'Verify now').click();
    await row.getByText('10 mx.elsewhere.example').waitFor();
    await row.getByText('Another', { exact: true }).waitFor();
  });

  it('shows the servers that send as a domain, the failures, and the advice', async () => {
    const page = await scene.signedIn();
    const { organizationId, domainId } = scene.acme;
    await scene.visit(page, `/domains/${domainId}`);
    await page.getByText('No reports yet').waitFor();
    for (const [source, passes, messages] of [
      ['192.0.2.25', true, 1_900],
      ['203.0.113.9', false, 100],
    ] as const) {
      await scene.db.query(
        `insert into dmarc_sources
           (organization_id, domain_id, reporter, report_id, source_ip, dkim, spf, disposition, policy, begins_at,
            ends_at, messages)
         values ($1, $2, 'google.com', 'r1', $3, $4, $4, 'none', 'none', now() - interval '20 days', now(), $5)`,
        [organizationId, domainId, source, passes, messages],
      );
    }
    await page.reload();
    const row = page.getByRole('row', { name: /203\.0\.113\.9/ });
    await row.getByText('100 fail').waitFor();
    await page.getByText('95.0 %', { exact: true }).waitFor();
    await page.getByText(/find out which of the sources that fail are yours/).waitFor();
  });

  it('shows the outcomes of mail at each receiver', async () => {
    const { organizationId, domainId } = scene.acme;
    const page = await scene.signedIn();
    await page.route('**/v1/stats/providers*', (route) => route.abort());
    await scene.visit(page, '/statistics');
    await page.getByRole('alert').getByText('The service does not respond').waitFor();
    await page.unroute('**/v1/stats/providers*');
    await scene.db.query(
      `insert into stats_providers
         (organization_id, mode, domain_id, hour, provider, accepted, delivered, deferred, bounced, excused, complaints)
       values ($1, 'live', $2, date_trunc('hour', now()), 'yahoo', 90, 90, 60, 10, 0, 1)`,
      [organizationId, domainId],
    );
    await page.getByRole('alert').getByRole('button', { name: 'Try again' }).click();
    const row = page.getByRole('row', { name: /Yahoo/ });
    await row.waitFor();
    expect(await row.getByRole('cell').allTextContents()).toEqual([
      'Yahoo',
      '90',
      '90',
      '60 (37.5\u00a0%)',
      '10 (10.0\u00a0%)',
      '1 (1.1\u00a0%)',
    ]);
  });

  it('imports suppressions from a file, and reports invalid lines', async () => {
    const page = await scene.signedIn();
    await scene.visit(page, '/suppressions');
    await button(page, 'Import CSV').click();
    const text =
      'email,reason,notes\none@x.example,manual,"asked, by phone"\nno address,manual,\ntwo@x.example,unsubscribe,\n';
    await page
      .getByLabel('File', { exact: true })
      .setInputFiles({ name: 'list.csv', mimeType: 'text/csv', buffer: Buffer.from(text) });
    await button(page, /^Import$/).click();
    await page.getByText('2 added, 1 refused').waitFor();
    await button(page, 'Close').click();
    await page.getByText('asked, by phone').waitFor();
    await button(page, 'Remove two@x.example').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await waitFor(async () => (await scene.api().get('/v1/suppressions')).body.pagination.total === 1, {
      what: 'the removal',
    });
  });

  it('makes a key, shows it once, and revokes it', async () => {
    const page = await scene.signedIn();
    await scene.visit(page, '/keys');
    await button(page, 'Create a key').click();
    await field(page, 'Name').fill('Shop backend');
    await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
    const key = (await page.getByTestId('secret').textContent())?.trim();
    expect((await scene.api(key).get('/v1/emails')).status).toBe(200);
    await button(page, 'I have it').click();
    expect(await page.content()).not.toContain(key);
    await button(page, 'Revoke Shop backend').click();
    await button(page, 'Revoke the key').click();
    await waitFor(async () => (await scene.api(key).get('/v1/emails')).status === 401, { what: 'the revocation' });
  });

  it('shows a narrow key its own pages only, and ends with it', async () => {
    const key = await scene.acme.key('live', ['stats:read', 'key:manage']);
    const page = await scene.signedIn(key);
    await scene.visit(page, '/');
    const pages = page.getByRole('navigation', { name: 'Pages' }).getByRole('link');
    await pages.filter({ hasText: 'Statistics' }).waitFor();
    expect(await pages.allTextContents()).toEqual(expect.not.arrayContaining(['Emails', 'Domains']));
    await scene.visit(page, '/emails');
    await page.getByText('It lacks the scope').waitFor();
    const { data } = (await scene.api(key).get('/v1/api-keys')).body;
    const own = data.find(({ prefix }: { prefix: string }) => key.startsWith(prefix));
    await scene.api().call('DELETE', `/v1/api-keys/${own.id}`);
    await page.goto(`${scene.base}/console/statistics`);
    await heading(page, 'Sign in').waitFor();
  });

  it('exports and erases the data of a person, with a receipt', async () => {
    await sent('For Grace', { to: ['privacy@example.com'] });
    const page = await scene.signedIn();
    await scene.visit(page, '/privacy');
    await button(page, "Erase a person's data").click();
    await field(page, 'Address of the person').fill('privacy@example.com');
    await page.getByLabel(/I understand that this cannot be undone/).check();
    await button(page, /^Erase$/).click();
    await page
      .getByRole('row', { name: /Erasure.*Completed/ })
      .getByRole('button')
      .click();
    await page.getByRole('dialog').getByText('Recipients anonymized').waitFor();
    await page.keyboard.press('Escape');
    await button(page, "Export a person's data").click();
    await field(page, 'Address of the person').fill('ada@example.com');
    await field(page, 'Format').selectOption('csv');
    await button(page, /^Export$/).click();
    await page
      .getByRole('row', { name: /ada@example\.com.*Export.*Completed/ })
      .getByRole('button')
      .click();
    // Several files come as one.
    const download = page.waitForEvent('download');
    await page.getByRole('dialog').getByRole('button', { name: 'Download' }).click();
    expect((await download).suggestedFilename()).toMatch(/^export-.*\.zip$/);
  });
}
