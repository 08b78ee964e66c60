import { modeOfKey } from '../../../src/auth/keys/key-format';
import { ALL_SCOPES } from '../../../src/common/http/scopes';
import { newId } from '../../../src/common/ids';
import { query } from '../embedded/support';
import { CliKit } from './cli-kit';

let cli: CliKit;
let org: string;
beforeAll(async () => {
  cli = await CliKit.createWarm();
  org = (await cli.json('org', 'create', 'Keys')).id;
});
afterAll(() => cli.destroy());

describe('waybill key create', () => {
  it('makes a key with every scope and shows it once', async () => {
    const created = await cli.json('key', 'create', '--org', org, '--mode', 'live', '--scopes', 'all');
    expect(created).toEqual({
      id: expect.any(String),
      name: 'command line',
      mode: 'live',
      scopes: ALL_SCOPES,
      prefix: created.key.slice(0, 12),
      createdAt: expect.any(String),
      key: expect.any(String),
    });
    expect(modeOfKey(created.key)).toBe('live');

    const listed = (await cli.json('key', 'list', '--org', org)).find(({ id }: { id: string }) => id === created.id);
    expect({ ...listed, key: created.key }).toEqual(created);
    expect(await query(cli.url, `select * from api_keys where api_keys::text like '%${created.key}%'`)).toEqual([]);
  });

  it('takes scopes, an expiry, a domain and a name', async () => {
    const domain = await cli.json('domain', 'add', org, 'keys.example.com');
    const options = ['--mode', 'test', '--scopes', 'email:send, email:read', '--domain', domain.id];
    const created = await cli.json(
      ...['key', 'create', '--org', org, ...options, '--expires', '2999-01-01', '--name', 'ci'],
    );
    expect(created).toMatchObject({
      name: 'ci',
      mode: 'test',
      scopes: ['email:send', 'email:read'],
      expiresAt: '2999-01-01T00:00:00.000Z',
      domainId: domain.id,
    });
    expect((await cli.run('key', 'list', '--org', org)).stdout).toContain('email:send,email:read');
  });

  it.each([
    ['scopes', ['--scopes', 'email:send,nonsense']],
    ['scopes', ['--scopes', '']],
    ['expiresAt', ['--scopes', 'all', '--expires', 'tomorrow']],
    ['expiresAt', ['--scopes', 'all', '--expires', '2020-01-01T00:00:00Z']],
    ['domainId', ['--scopes', 'all', '--domain', newId()]],
    ['name', ['--scopes', 'all', '--name', '']],
  ])('refuses a bad value of %s, and says why', async (field, options) => {
    const args = ['key', 'create', '--org', org, '--mode', 'live', ...options];
    const error = await cli.failure(...args);
    expect(error).toMatchObject({
      code: 'invalid_request',
      details: { validation: { [field]: [expect.any(String)] } },
    });
    expect((await cli.run(...args)).stderr).toMatch(new RegExp(`^waybill: Request validation failed: .*${field}.*\n$`));
  });

  it('makes none for an unknown organization', async () => {
    const error = await cli.failure('key', 'create', '--org', newId(), '--mode', 'live', '--scopes', 'all');
    expect(error).toEqual({ code: 'resource_not_found', message: 'Organization not found' });
    expect(await cli.failure('key', 'list', '--org', newId())).toMatchObject({ code: 'resource_not_found' });
  });
});

describe('waybill key revoke', () => {
  it('ends a key by its id alone', async () => {
    const { id } = await cli.json('key', 'create', '--org', org, '--mode', 'test', '--scopes', 'email:send');
    expect(await cli.json('key', 'revoke', id)).toEqual({ id, revoked: true });
    expect(await cli.json('key', 'list', '--org', org)).toContainEqual(
      expect.objectContaining({ id, revokedAt: expect.any(String) }),
    );
  });

  it('reports an unknown id', async () => {
    expect(await cli.failure('key', 'revoke', newId())).toEqual({
      code: 'resource_not_found',
      message: 'API key not found',
    });
  });
});

describe('waybill console link', () => {
  const links = () => query(cli.url, 'select organization_id, mode from console_links order by expires_at');

  it("makes links for an organization's pages and for the operator's, of which only hashes are kept", async () => {
    const answers = [
      await cli.json('console', 'link', '--org', org, '--mode', 'test'),
      await cli.json('console', 'link', '--operator'),
    ];
    for (const { url, expiresAt } of answers) {
      expect(url).toMatch(/^http:\/\/localhost:\d+\/console#link=[\w-]{43}$/);
      expect(new Date(expiresAt).getTime() - Date.now()).toBeLessThanOrEqual(15 * 60_000);
      const [, token] = url.split('=');
      expect(await query(cli.url, `select * from console_links where console_links::text like '%${token}%'`)).toEqual(
        [],
      );
    }
    expect(await links()).toEqual([
      { organization_id: org, mode: 'test' },
      { organization_id: '00000000-0000-0000-0000-000000000000', mode: null },
    ]);
  });

  it('is for the first organization unless another one is named, and for one of both', async () => {
    await query(cli.url, 'delete from console_links');
    await cli.json('console', 'link');
    const [first] = await cli.json('org', 'list');
    expect(await links()).toEqual([{ organization_id: first.id, mode: 'live' }]);
    const both = ['--operator', '--org', org];
    expect(await cli.failure('console', 'link', ...both)).toMatchObject({ code: 'invalid_request' });
    expect(await cli.failure('console', 'link', '--org', newId())).toMatchObject({ code: 'resource_not_found' });
  });
});
