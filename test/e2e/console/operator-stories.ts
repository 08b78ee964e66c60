import type { Page } from 'playwright-core';
import { waitFor } from '../../setup/wait-for';
import { button, type ConsoleScene, field, heading } from './console-scene';

const DAY_MS = 86_400_000;

/** What operators come for. */
export function operatorStories(sceneOf: () => ConsoleScene): void {
  let scene: ConsoleScene;
  let page: Page;
  let key: string;
  beforeAll(async () => {
    scene = sceneOf();
    key = await scene.tenants.operatorKey();
  });
  beforeEach(async () => (page = await scene.signedIn(key)));

  const dialog = () => page.getByRole('dialog');

  it('sees at a glance which mail waits, and why', async () => {
    await scene.visit(page, '/');
    await heading(page, 'The installation').waitFor();
    await page.getByRole('link', { name: 'Workers' }).click();
    await page.getByRole('row').nth(1).waitFor();
    await page.getByRole('link', { name: 'Egress' }).click();
    await page.getByText('out1.acme.example').waitFor();
    await page.getByText('No receiver refuses them.').waitFor();
  });

  it('gets from the number of restricted domains to whose they are, why, and their history', async () => {
    const { organizationId, domainId } = scene.acme;
    const restrict = (status: string, reason: string | null, limit: number | null) =>
      scene.db.query(
        `update domains set sending_status = $2, sending_status_reason = $3, sending_daily_limit = $4,
           sending_status_since = now() where id = $1`,
        [domainId, status, reason, limit],
      );
    const { status, body } = await scene.api(key).get('/operator/v1/overview');
    expect({ status, body }).toMatchObject({ status: 200, body: { data: {} } });
    const overview = { ...body.data, restrictedDomains: 1 };
    await page.route('**/operator/v1/overview', (route) => route.fulfill({ json: { data: overview } }));
    await restrict('slowed', 'bounces', 1_200);
    await scene.db.query(
      `insert into audit_log (id, occurred_at, organization_id, actor, action, target_type, target_id, data)
       values (gen_random_uuid(), now(), $1, 'system', 'domain.sending_slowed', 'domain', $2, '{"reason": "bounces"}')`,
      [organizationId, domainId],
    );
    try {
      await scene.visit(page, '/');
      const notice = page.locator('.notice', { hasText: /slowed or paused\./ });
      await notice.getByRole('link', { name: 'See them' }).click();
      const domain = page.getByRole('row', { name: /acme\.example.*too many of its emails bounced/ });
      await domain.getByText('1,200 a day').waitFor();
      await domain.getByRole('link', { name: 'Owner of acme.example' }).waitFor();
      await domain.getByRole('link', { name: 'History of acme.example' }).click();
      const row = page.getByRole('row', { name: /The service itself/ });
      await row.getByText('More').click();
      await row.getByText('Reason: bounces').waitFor();
    } finally {
      await restrict('active', null, null);
    }
  });

  it('creates an organization, gives it a key and limits, suspends and resumes it', async () => {
    await scene.visit(page, '/organizations');
    await page.locator('.page-head').getByRole('button', { name: 'Create' }).click();
    await field(page, 'Name').fill('Northwind');
    await dialog().getByRole('button', { name: 'Create' }).click();
    const row = page.getByRole('row', { name: /Northwind/ });
    await row.getByRole('button', { name: 'New key for Northwind' }).click();
    await dialog().getByRole('button', { name: 'Create' }).click();
    const key = (await page.getByTestId('secret').textContent()) ?? '';
    await button(page, 'I have it').click();
    expect((await scene.api(key).get('/v1/emails')).status).toBe(200);
    await row.getByRole('button', { name: 'Limits of Northwind' }).click();
    await field(page, 'Recipients a month').fill('1000');
    await dialog().getByRole('button', { name: 'Save' }).click();
    await row.getByText('1,000').waitFor();
    await row.getByRole('button', { name: 'Suspend Northwind' }).click();
    await dialog().getByText('It can be resumed at any time').waitFor();
    await dialog().getByRole('button', { name: 'Suspend' }).click();
    await row.getByText('Suspended').waitFor();
    await row.getByRole('button', { name: 'Resume Northwind' }).click();
    await row.getByText('Active').waitFor();
    await scene.visit(page, '/audit?action=organization.suspended');
    await page.getByRole('row', { name: /\(this key\).*Organization Northwind/ }).waitFor();
  });

  it('holds and releases mail that waits for a destination, with the number', async () => {
    const scheduledAt = new Date(Date.now() + DAY_MS).toISOString();
    const to = ['ada@later.example', 'grace@later.example'];
    await scene.api().send({ from: 'hello@acme.example', to, subject: 'Later', scheduledAt });
    await scene.visit(page, '/queue?by=destination');
    await button(page, 'later.example').click();
    const row = page.getByRole('row', { name: /ada@later.example/ });
    await row.getByRole('link', { name: 'Owner of acme.example' }).waitFor();
    // A day from now, and four more until it is given up.
    await row.getByText('in 5 days').waitFor();
    await page.getByRole('button', { name: 'Hold', exact: true }).click();
    await dialog().getByText('2 open deliveries to later.example').waitFor();
    await dialog().getByText('whatever their state').waitFor();
    await field(page, 'Reason').fill('Looked into');
    await dialog().getByRole('button', { name: 'Hold them' }).click();
    await dialog().getByText('2 changed of 2').waitFor();
    await button(page, 'Close').click();
    await row.getByText('Held').waitFor();
    await button(page, 'Fail').click();
    await dialog().getByText('This cannot be undone').waitFor();
    await field(page, 'Reason').fill('Not wanted any more');
    await dialog().getByRole('button', { name: 'Fail them' }).click();
    await dialog().getByText('2 changed of 2').waitFor();
    await button(page, 'Close').click();
    await page.getByText('No matching deliveries').waitFor();
    await scene.visit(page, `/queue?organization=${scene.acme.organizationId}`);
    await page.getByRole('button', { name: 'Retry now', exact: true }).click();
    await dialog().getByText('Owner of acme.example').waitFor();
  });

  it('holds one recipient of one email, and leaves the others alone', async () => {
    const scheduledAt = new Date(Date.now() + DAY_MS).toISOString();
    const to = ['ada@one.example', 'grace@one.example'];
    const mail = { from: 'hello@acme.example', to, subject: 'Later', scheduledAt };
    const [id] = [await scene.api().send(mail), await scene.api().send(mail)];
    await scene.visit(page, `/queue?email=${id}`);
    await page.getByRole('link', { name: 'ada@one.example' }).click();
    await waitFor(async () => (await page.getByRole('link', { name: id }).count()) === 1, { what: 'one delivery' });
    await button(page, 'Hold').click();
    await dialog()
      .getByText(`1 open delivery of Owner of acme.example of the email ${id} to ada@one.example`)
      .waitFor();
    await field(page, 'Reason').fill('Looked into');
    await dialog().getByRole('button', { name: 'Hold them' }).click();
    await dialog().getByText('1 changed of 1').waitFor();
    await button(page, 'Close').click();
    await field(page, 'Recipient').fill('ADA@one.example');
    await field(page, 'Email (id)').fill('');
    await page.keyboard.press('Enter');
    await waitFor(async () => (await page.getByRole('link', { name: 'ada@one.example' }).count()) === 2, {
      what: 'both emails to the recipient',
    });
    await page.getByRole('row', { name: /ada@one\.example.*Held/ }).waitFor();
  });

  it('says how much mail an action ends, however the destination is written', async () => {
    const scheduledAt = new Date(Date.now() + DAY_MS).toISOString();
    await scene.api().send({ from: 'hello@acme.example', to: ['ada@kööln.example'], subject: 'Later', scheduledAt });
    await scene.visit(page, '/queue?destination=K%C3%96%C3%96ln.Example');
    await page.getByText(/ada@/).waitFor();
    await button(page, 'Fail').click();
    await dialog().getByText('1 open delivery to KÖÖln.Example').waitFor();
    await field(page, 'Reason').fill('Not wanted any more');
    const begun = { status: 'running', matched: 0, changed: 0, claimed: 0 };
    const progress = '**/operator/v1/queue/actions/*';
    await page.route(progress, (route) => route.fulfill({ json: { data: { action: 'fail', ...begun } } }));
    await dialog().getByRole('button', { name: 'Fail them' }).click();
    await dialog().getByRole('progressbar', { name: 'Under way' }).waitFor();
    expect(await dialog().textContent()).not.toContain('0 changed of 0');
    await page.unroute(progress);
    await heading(page, 'Result').waitFor();
    await dialog().getByText('1 changed of 1').waitFor();
  });

  it('finds a paused destination, sees why, limits and resumes it; the audit log shows it', async () => {
    const path = '/operator/v1/destinations/mx1.slow.example';
    const api = scene.api(await scene.tenants.operatorKey());
    await api.call('PATCH', path, { paused: true, reason: 'Their maintenance' });
    await scene.visit(page, '/destinations?state=paused');
    await page.getByRole('link', { name: 'mx1.slow.example' }).click();
    await page.getByText('An operator has paused it: “Their maintenance”.').waitFor();
    await button(page, 'Resume').click();
    await field(page, 'Reason').fill('It is over');
    await dialog().getByRole('button', { name: 'Resume' }).click();
    await button(page, 'Limit').click();
    await field(page, 'Connections at a time').fill('3');
    await field(page, 'Reason').fill('Carefully');
    await dialog().getByRole('button', { name: 'Limit' }).click();
    await page.getByText('An operator has limited it: “Carefully”.').waitFor();
    await button(page, 'Remove the rule 3 max connections').click();
    await dialog().getByText('within 5 seconds').waitFor();
    await dialog().getByRole('button', { name: 'Remove the rule' }).click();
    await page.getByText('The rule is removed').waitFor();
    await scene.visit(page, '/audit?action=destination.rule_removed');
    await page.getByRole('row', { name: /mx1.slow.example/ }).waitFor();
  });

  it('takes no moment that is none, and keeps the dialog', async () => {
    const page = await scene.signedIn(await scene.tenants.operatorKey());
    const destination = {
      ...{ key: 'mx1.late.example', mxHosts: [], domains: ['late.example'], state: 'open', active: 0 },
      ...{ rules: [], lastHour: { delivered: 0, deferred: 0, bounced: 0 } },
    };
    await page.route('**/operator/v1/destinations/mx1.late.example', (route) =>
      route.fulfill({ json: { data: destination } }),
    );
    await scene.visit(page, '/destinations/mx1.late.example');
    await button(page, 'Pause').click();
    const until = field(page, 'Until');
    await field(page, 'Reason').fill('A holiday');
    await page.getByRole('dialog').getByText('In the time zone').waitFor();
    await until.fill('20261-01-01T00:00');
    await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click();
    // The browser says so at the field.
    expect(await page.locator('dialog input:out-of-range').count()).toBe(1);
    expect(await field(page, 'Reason').inputValue()).toBe('A holiday');
  });

  it('shows a key that may only read no way to change anything', async () => {
    const reader = await scene.signedIn(await scene.tenants.operatorKey(['operator:read']));
    await scene.visit(reader, '/nowhere');
    for (const path of ['/organizations', '/queue', '/destinations', '/workers', '/audit']) {
      await scene.turnTo(reader, path);
      expect(await button(reader, /^(Create|Limits|Suspend|Hold|Fail|Pause|Limit)/).count()).toBe(0);
    }
  });
}
