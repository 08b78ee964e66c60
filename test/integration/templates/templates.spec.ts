import { randomUUID } from 'node:crypto';
import { ApiKeysService } from '../../../src/auth/keys/api-keys.service';
import { DomainsService } from '../../../src/modules/domains/domains.service';
import { TemplatesRepository } from '../../../src/modules/templates/templates.repository';
import { TemplateRenderer } from '../../../src/modules/templates/template-renderer.service';
import { ApiClient } from '../../e2e/kit/api-client';
import { DomainsApp, type Owner } from '../domains/domains-app';

let app: DomainsApp;
let acme: Owner;
beforeAll(async () => (app = await DomainsApp.start()));
afterAll(() => app.close());
beforeEach(async () => {
  acme = await app.owner();
  const domains = app.get(DomainsService);
  const { id } = await domains.add(acme.organizationId, `${randomUUID()}.example`);
  await domains.markVerified(acme.organizationId, id);
});

const WELCOME = { name: 'welcome', subject: 'Welcome, {{ name }}', html: '<p>{{ name }}</p>', text: 'Hi {{ name }}' };
const TO = { to: ['ada@example.com'] };

async function add(fields: object = {}) {
  const { status, body } = await acme.api.post('/v1/templates', { ...WELCOME, ...fields });
  expect(status).toBe(201);
  return body.data as { id: string; version: number; variables: string[] };
}

const change = (id: string, fields: object) => acme.api.call('PATCH', `/v1/templates/${id}`, fields);
const send = (template: object, fields: object = {}, headers = {}) =>
  acme.api.post('/v1/emails', { ...TO, ...fields, template }, headers);
const contentOf = async (id: string) => (await acme.api.get(`/v1/emails/${id}/content`)).body.data;

describe('/v1/templates', () => {
  it('keeps a template, and a version for every change', async () => {
    const { id, version, variables } = await add();
    expect({ version, variables }).toEqual({ version: 1, variables: ['name'] });
    const changed = await change(id, { subject: 'Hello {{ name }} from {{ place }}', text: '' });
    expect(changed.body.data).toMatchObject({ version: 2, html: WELCOME.html, variables: ['name', 'place'] });
    expect(changed.body.data).not.toHaveProperty('text');
    expect((await acme.api.get(`/v1/templates/${id}`)).body.data).toEqual(changed.body.data);
    expect((await acme.api.get(`/v1/templates/${id}?version=1`)).body.data).toMatchObject({
      version: 1,
      text: WELCOME.text,
    });
    const { body } = await acme.api.get(`/v1/templates/${id}/versions`);
    expect(body.data.map((each: { version: number }) => each.version)).toEqual([2, 1]);
    const list = (await acme.api.get('/v1/templates')).body;
    expect(list).toMatchObject({ data: [{ id, version: 2 }], pagination: { total: 1 } });
    expect(await acme.api.delete(`/v1/templates/${id}`)).toMatchObject({ body: { data: { id, deleted: true } } });
    expect((await acme.api.get(`/v1/templates/${id}`)).status).toBe(404);
    const entries = await app.audit(acme.organizationId);
    expect(entries.filter(({ target_id }) => target_id === id).map(({ action, data }) => [action, data])).toEqual([
      ['template.created', { mode: 'live', name: 'welcome', version: 1 }],
      ['template.changed', { mode: 'live', name: 'welcome', version: 2 }],
      ['template.deleted', { mode: 'live', name: 'welcome', version: 2 }],
    ]);
  });

  it('lists by name, and by a cursor from which none is left out while others come and go', async () => {
    const made: Record<string, string> = {};
    for (const name of ['d', 'b', 'f', 'a-1', 'a1']) made[name] = (await add({ name })).id;
    const read = async (query: string) => {
      const { status, body } = await acme.api.get(`/v1/templates?${query}`);
      const names = body.data?.map(({ name }: { name: string }) => name);
      return { status, names, pagination: body.pagination };
    };
    const { names } = await read('');
    expect(names.slice(2)).toEqual(['b', 'd', 'f']);
    const first = await read('limit=2');
    expect(first.pagination).toEqual({
      ...{ page: 1, limit: 2, total: 5 },
      totalPages: 3,
      nextCursor: expect.any(String),
    });
    expect(await read('limit=2&page=3')).toEqual({
      ...{ status: 200, names: ['f'] },
      pagination: { page: 3, limit: 2, total: 5, totalPages: 3 },
    });
    await acme.api.delete(`/v1/templates/${made[first.names[1]]}`);
    await add({ name: '0-before' });
    const second = await read(`limit=2&page=9&cursor=${first.pagination.nextCursor}`);
    expect([second.names, second.pagination.total]).toEqual([['b', 'd'], 5]);
    const last = await read(`limit=2&cursor=${second.pagination.nextCursor}`);
    expect([last.names, last.pagination.nextCursor]).toEqual([['f'], undefined]);
    // One that is deleted while a page is read: the page has one less, and the list goes on.
    await add({ name: 'g' });
    await app.db.query(`delete from template_versions where organization_id = $1 and template_id = $2`, [
      acme.organizationId,
      made.b,
    ]);
    const shorter = await read(`limit=2&cursor=${first.pagination.nextCursor}`);
    expect(shorter.names).toEqual(['d']);
    expect((await read(`cursor=${shorter.pagination.nextCursor}`)).names).toEqual(['f', 'g']);
    for (const cursor of ['', '!', 'AA', '_w', 'YQ==', 'x'.repeat(501)]) {
      expect(await read(`cursor=${encodeURIComponent(cursor)}`)).toMatchObject({ status: 400 });
    }
  });

  it('finds a part of the name, on every page and behind every cursor', async () => {
    for (const name of ['reset-b', 'welcome', 'x-reset', 'reset-a', 'a-b']) await add({ name });
    const read = async (query: string) => {
      const { status, body } = await acme.api.get(`/v1/templates?${query}`);
      return [status, body.data?.map(({ name }: { name: string }) => name), body.pagination];
    };
    const counted = { page: 1, limit: 2, total: 3, totalPages: 2 };
    const first = await read('q=ReSet&limit=2');
    expect(first).toEqual([200, ['reset-a', 'reset-b'], { ...counted, nextCursor: expect.any(String) }]);
    expect(await read('q=reset&limit=2&page=2')).toEqual([200, ['x-reset'], { ...counted, page: 2 }]);
    expect(await read(`q=reset&limit=2&cursor=${first[2].nextCursor}`)).toEqual([200, ['x-reset'], counted]);
    for (const q of ['a_b', '%25', 'password', "'"]) {
      expect(await read(`q=${q}`)).toMatchObject([200, [], { total: 0, totalPages: 0 }]);
    }
    for (const q of ['', 'x'.repeat(65), '%00', 'a&q=b']) expect(await read(`q=${q}`)).toMatchObject([400]);
    const { body } = await (await app.owner('Other')).api.get('/v1/templates?q=reset');
    expect(body.data).toEqual([]);
  });

  it('refuses a syntax error with its place, another name twice, and neither html nor text', async () => {
    const wrong = await acme.api.post('/v1/templates', { ...WELCOME, html: 'a\nb {% if name %}' });
    expect(wrong).toMatchObject({
      status: 400,
      body: { error: { details: { problems: [{ field: 'html', line: 2, column: 3 }] } } },
    });
    expect(wrong.body.error.details.validation.html[0]).toContain('line 2, column 3');
    const { id } = await add();
    expect((await change(id, { text: '{{ name' })).status).toBe(400);
    expect((await change(id, {})).status).toBe(400);
    expect((await change(id, { html: '', text: '' })).status).toBe(400);
    expect((await acme.api.post('/v1/templates', WELCOME)).body.error.code).toBe('template_already_exists');
    expect((await acme.api.post('/v1/templates', { ...WELCOME, name: 'Not a name' })).status).toBe(400);
    expect((await acme.api.get(`/v1/templates/${id}`)).body.data.version).toBe(1);
  });

  it('keeps as many versions as fit into 16 MiB', async () => {
    const { id } = await add({ name: 'large' });
    const html = 'x'.repeat(512 * 1024);
    for (let at = 0; at < 34; at += 1) {
      expect((await acme.api.patch(`/v1/templates/${id}`, { html: `${html.slice(5)}${at}` })).status).toBe(200);
    }
    const { body } = await acme.api.get(`/v1/templates/${id}/versions`);
    const versions = body.data.map((each: { version: number }) => each.version);
    expect(versions).toEqual(Array.from({ length: 31 }, (_, at) => 35 - at));
    expect((await acme.api.get(`/v1/templates/${id}?version=4`)).status).toBe(404);
    await acme.api.delete(`/v1/templates/${id}`);
  });

  it('uses the newest version when the one that was looked up has left its room to it', async () => {
    const { id } = await add({ html: '<p>old</p>' });
    const repository = app.get(TemplatesRepository);
    const read = repository.findVersion.bind(repository);
    /** The latest is replaced, and removed, between the look-up and the first read. */
    const whileReplaced = (version: number) =>
      jest.spyOn(repository, 'findVersion').mockImplementationOnce(async (...key) => {
        await app.db.query(
          `insert into template_versions (organization_id, template_id, version, subject, html, text, variables, created_at)
           select organization_id, template_id, $2, 'new', html, text, '{}', created_at from template_versions
           where template_id = $1`,
          [id, version],
        );
        await app.db.query('delete from template_versions where template_id = $1 and version < $2', [id, version]);
        await app.db.query('update templates set version = $2 where id = $1', [id, version]);
        return read(...key);
      });
    whileReplaced(2);
    const sent = await send({ name: 'welcome', variables: { name: 'Ada' } });
    expect(sent.status).toBe(202);
    expect((await acme.api.get(`/v1/emails/${sent.body.data.id}`)).body.data.subject).toBe('new');
    whileReplaced(3);
    expect((await acme.api.get(`/v1/templates/${id}`)).body.data).toMatchObject({ version: 3, subject: 'new' });
    whileReplaced(4);
    expect((await change(id, { subject: 'newest' })).body.data).toMatchObject({ version: 5, subject: 'newest' });
  });

  it('previews any version, and names missing variables', async () => {
    const { id } = await add();
    await change(id, { subject: 'Second' });
    const preview = (body: object) => acme.api.post(`/v1/templates/${id}/render`, body);
    const variables = { name: '<Ada>' };
    expect((await preview({ variables })).body.data).toEqual({
      version: 2,
      subject: 'Second',
      html: '<p>&lt;Ada&gt;</p>',
      text: 'Hi <Ada>',
    });
    expect((await preview({ variables, version: 1 })).body.data.subject).toBe('Welcome, <Ada>');
    expect((await preview({ variables, version: 3 })).status).toBe(404);
    const { status, body } = await preview({});
    expect({ status, code: body.error.code }).toEqual({ status: 422, code: 'template_render_failed' });
    expect(Object.keys(body.error.details.validation)).toEqual(['variables.name']);
  });

  it('makes one version after the other of changes at the same time', async () => {
    const { id } = await add();
    const answers = await Promise.all([1, 2, 3, 4].map((n) => change(id, { subject: `Change ${n}` })));
    expect(answers.map(({ body }) => body.data.version).sort()).toEqual([2, 3, 4, 5]);
  });

  it('takes as many as an organization may have, however many come at the same moment', async () => {
    await app.db.query(
      `insert into templates select $1::uuid, gen_random_uuid(), 't' || n, 1, now(), now() from generate_series(1, 999) as n`,
      [acme.organizationId],
    );
    const added = await Promise.all(
      [1, 2, 3].map((n) => acme.api.post('/v1/templates', { ...WELCOME, name: `a${n}` })),
    );
    expect(added.map(({ status }) => status).sort()).toEqual([201, 409, 409]);
  });

  it('holds 256 MiB of an organization: older versions make room for a change, and what does not fit is refused', async () => {
    const KIB = 1024;
    await app.db.query(
      `with added as (
         insert into templates (organization_id, id, name, version, created_at, updated_at, stored_bytes)
         select $1, gen_random_uuid(), name, 1, now(), now(), bytes from (values ('most', 255 * 1024 * 1024), ('uncounted', 0)) v (name, bytes)
         returning *
       )
       insert into template_versions (organization_id, template_id, version, subject, html, variables, created_at)
       select organization_id, id, 1, '', repeat('x', 512 * 1024), '{}', now() from added where name = 'uncounted'`,
      [acme.organizationId],
    );
    const texts = { subject: 's', html: 'x'.repeat(400 * KIB), text: 't' };
    const { id } = await add(texts);
    expect((await change(id, { html: 'y'.repeat(400 * KIB) })).status).toBe(200);
    const { body } = await acme.api.get(`/v1/templates/${id}/versions`);
    expect(body.data.map((each: { version: number }) => each.version)).toEqual([2]);
    const full = { status: 409, body: { error: { code: 'template_limit_reached' } } };
    const another = { ...WELCOME, name: 'another', html: 'z'.repeat(200 * KIB) };
    expect(await acme.api.post('/v1/templates', another)).toMatchObject(full);
    expect(await change(id, { text: 'z'.repeat(200 * KIB) })).toMatchObject(full);
    expect((await acme.api.get(`/v1/templates/${id}`)).body.data.version).toBe(2);
    const stored = await app.db.query<{ id: string; name: string; stored_bytes: number }>(
      'select id, name, stored_bytes from templates where organization_id = $1 order by stored_bytes',
      [acme.organizationId],
    );
    expect(stored.map((row) => [row.name, row.stored_bytes])).toEqual([
      ['welcome', 400 * KIB + 2],
      ['uncounted', 512 * KIB],
      ['most', 255 * KIB * KIB],
    ]);
    await acme.api.delete(`/v1/templates/${stored[1]!.id}`);
    expect((await acme.api.post('/v1/templates', another)).status).toBe(201);
  });

  it('loses none of the changes at the same time', async () => {
    const { id } = await add();
    const fields = { name: 'renamed', subject: 'Other', html: '<p>Other</p>', text: 'Other' };
    const answers = await Promise.all(Object.entries(fields).map(([field, value]) => change(id, { [field]: value })));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect((await acme.api.get(`/v1/templates/${id}`)).body.data).toMatchObject({ ...fields, version: 5 });
  });
});

describe('sending with a template', () => {
  it('sends the rendering of the latest version, or of the named one', async () => {
    const { id } = await add();
    await change(id, { subject: 'Second for {{ name }}' });
    const variables = { name: 'Ada <i>' };
    const latest = await send({ name: 'welcome', variables });
    expect(latest.status).toBe(202);
    expect((await acme.api.email(latest.body.data.id)).subject).toBe('Second for Ada <i>');
    expect(await contentOf(latest.body.data.id)).toMatchObject({ html: '<p>Ada &lt;i&gt;</p>', text: 'Hi Ada <i>' });
    const first = await send({ id, version: 1, variables });
    expect((await acme.api.email(first.body.data.id)).subject).toBe('Welcome, Ada <i>');
  });

  it.each([
    ['subject, html or text beside it', { name: 'welcome' }, { subject: 'x', html: 'x' }, ['subject', 'html']],
    ['neither id nor name', { variables: {} }, {}, ['template']],
    ['id and name', { id: randomUUID(), name: 'welcome' }, {}, ['template']],
    ['an unknown field', { name: 'welcome', data: {} }, {}, ['template.data']],
    ['variables that are no object', { name: 'welcome', variables: [] }, {}, ['template.variables']],
    ['too many variables', { name: 'welcome', variables: { x: 'x'.repeat(262_144) } }, {}, ['template.variables']],
    ['a version that is none', { name: 'welcome', version: 0 }, {}, ['template.version']],
  ])('refuses %s', async (_what, template, fields, paths) => {
    const { status, body } = await send(template, fields);
    expect({ status, paths: Object.keys(body.error.details.validation) }).toEqual({ status: 400, paths });
  });

  it('names missing variables, in a batch by item, and sends the others', async () => {
    await add();
    const items = [
      { ...TO, template: { name: 'welcome', variables: { name: 'Ada' } } },
      { ...TO, template: { name: 'welcome' } },
      { ...TO, template: { name: 'unknown' } },
      { ...TO, subject: 'Plain', text: 'Plain' },
    ];
    const { body } = await acme.api.post('/v1/emails/batch', items);
    expect(body.data.summary).toEqual({ total: 4, successful: 2, failed: 2 });
    const [, missing, unknown] = body.data.data;
    expect(missing.code).toBe('template_render_failed');
    expect(Object.keys(missing.details.validation)).toEqual(['1.template.variables.name']);
    const { suggestion } = (await send({ name: 'unknown' })).body.error;
    expect(unknown).toMatchObject({ code: 'template_not_found', suggestion });
    expect((await send({ name: 'welcome', version: 9, variables: {} })).body.error.code).toBe('template_not_found');
  });

  it('counts the characters of a subject as a send without a template does', async () => {
    await add({ subject: '{{ name }}' });
    const statusOf = async (characters: number) =>
      (await send({ name: 'welcome', variables: { name: '😀'.repeat(characters) } })).status;
    expect([await statusOf(998), await statusOf(999), await statusOf(2_000)]).toEqual([202, 422, 422]);
  });

  it('returns the first response to a repetition, whatever has become of the template', async () => {
    const { id } = await add();
    const template = { name: 'welcome', variables: { name: 'Ada' } };
    const key = { 'x-idempotency-key': 'welcome-ada' };
    const first = await send(template, {}, key);
    await change(id, { subject: '{{ another }}' });
    const second = await send(template, {}, key);
    await acme.api.delete(`/v1/templates/${id}`);
    const third = await send(template, {}, key);
    expect([second.body, third.body]).toEqual([first.body, first.body]);
    expect(third.headers.get('idempotent-replayed')).toBe('true');
    expect((await send(template)).body.error.code).toBe('template_not_found');
  });

  it('does not remember a template that could not be rendered', async () => {
    const { id } = await add();
    const key = { 'x-idempotency-key': 'mended' };
    expect((await send({ name: 'welcome' }, {}, key)).status).toBe(422);
    await change(id, { subject: 'Hello', html: '', text: 'Hello' });
    expect((await send({ name: 'welcome' }, {}, key)).status).toBe(202);
  });

  it('returns 404 for a template of another organization; test keys and keys of one domain use those of their own', async () => {
    const { id } = await add({ subject: 'Hi', html: '<p>Hi</p>', text: 'Hi' });
    const { key: testKey } = await app
      .get(ApiKeysService)
      .create(acme.organizationId, { name: 'test', mode: 'test', scopes: ['email:send', 'template:read'] });
    const test = new ApiClient(app.port, testKey);
    expect((await test.post('/v1/emails', { ...TO, template: { id } })).status).toBe(202);
    expect((await test.get(`/v1/templates/${id}`)).status).toBe(200);
    const other = await app.owner('Other');
    const domains = app.get(DomainsService);
    const { id: domainId } = await domains.add(other.organizationId, `${randomUUID()}.example`);
    await domains.markVerified(other.organizationId, domainId);
    const theirs = await other.api.post('/v1/emails', { ...TO, template: { id } });
    expect(theirs.body.error.code).toBe('template_not_found');
    const [{ id: ownDomainId }] = (await acme.api.get('/v1/domains')).body.data;
    const bound = await acme.client(['email:send'], ownDomainId);
    expect((await bound.post('/v1/emails', { ...TO, template: { id } })).status).toBe(202);
  });

  it('finds each template of a batch, also one whose name looks like the id of another, and no later version', async () => {
    const { id } = await add({ text: 'By id', html: null });
    await add({ name: id, text: 'By name', html: null });
    const variables = { name: 'Ada' };
    const named = [{ id }, { name: id }, { name: 'unknown' }, { id: randomUUID() }, { id, version: 2 }];
    const { body } = await acme.api.post(
      '/v1/emails/batch',
      named.map((template) => ({ ...TO, template: { ...template, variables } })),
    );
    const results: { id?: string; code?: string }[] = body.data.data;
    const texts = results.map(async (one) => (one.id ? (await contentOf(one.id)).text : one.code));
    expect(await Promise.all(texts)).toEqual(['By id', 'By name', ...Array<string>(3).fill('template_not_found')]);
  });

  it('renders what is empty, too long or of several lines to no header field that breaks a mail', async () => {
    await add({ name: 'subject-only', subject: '{{ subject }}', html: null, text: 'Hello' });
    const sent = await send({ name: 'subject-only', variables: { subject: 'One\r\nBcc: eve@example.com\ntwo' } });
    expect((await acme.api.email(sent.body.data.id)).subject).toBe('One Bcc: eve@example.com two');
    for (const subject of ['', ' \n', 'x'.repeat(999)]) {
      const { status, body } = await send({ name: 'subject-only', variables: { subject } });
      expect({ status, paths: Object.keys(body.error.details.validation) }).toEqual({
        status: 422,
        paths: ['subject'],
      });
    }
  });

  it('is held up by no template: neither the event loop nor other organizations', async () => {
    const nest = (name: string) =>
      `{% assign ${name} = "" | split: "" %}${`{% assign ${name} = ${name} | push: ${name} %}`.repeat(60)}`;
    await add({ name: 'hostile', html: `${nest('a')}${nest('b')}{% if a == b %}same{% endif %}` });
    const other = await app.owner('Other');
    await other.api.post('/v1/templates', { ...WELCOME, html: null, text: 'Hello' });
    const { organizationId } = other;
    const renderer = app.get(TemplateRenderer);
    const renderWelcome = () => renderer.render(organizationId, { name: 'welcome', variables: '{"name":"Ada"}' });
    await Promise.all([renderWelcome(), renderer.check(acme.organizationId, { ...WELCOME, subject: 'Hello' })]);
    const hostile = renderer.render(acme.organizationId, { name: 'hostile', variables: '{"name":"Ada"}' });
    let done = false;
    void hostile.catch(() => undefined).finally(() => (done = true));
    await renderWelcome();
    expect(done).toBe(false);
    await expect(hostile).rejects.toMatchObject({ code: 'template_render_failed' });
  });
});
