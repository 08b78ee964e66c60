import { newId } from '../../../src/common/ids';
import { CliKit } from './cli-kit';

describe('waybill audit list', () => {
  let cli: CliKit;
  let org: string;
  let key: string;
  beforeAll(async () => {
    cli = await CliKit.createWarm();
    org = (await cli.json('org', 'create', 'Acme')).id;
    key = (await cli.json('key', 'create', '--org', org, '--mode', 'live', '--scopes', 'all')).id;
    await cli.json('key', 'revoke', key);
    await cli.json('org', 'suspend', org);
  });
  afterAll(() => cli.destroy());

  const list = (...options: string[]) => cli.json<any[]>('audit', 'list', '--org', org, ...options);

  it('lists the changes of the command line, newest first', async () => {
    const entries = await list();
    expect(entries.map(({ actor, action, targetId }) => [actor, action, targetId])).toEqual([
      ['operator', 'organization.suspended', org],
      ['operator', 'api_key.revoked', key],
      ['operator', 'api_key.created', key],
      ['operator', 'organization.created', org],
    ]);
    expect((await cli.run('audit', 'list', '--org', org)).stdout).toMatch(/operator +api_key\.revoked +api_key/);
  });

  it('filters and pages', async () => {
    const all = await list();
    expect(await list('--action', 'api_key.revoked')).toEqual([all[1]]);
    expect(await list('--limit', '2')).toEqual(all.slice(0, 2));
    expect(await list('--limit', '2', '--cursor', all[1].id)).toEqual(all.slice(2));
    expect(await list('--to', '2020-01-01')).toEqual([]);
    expect(await list('--from', '2020-01-01')).toEqual(all);
  });

  it.each([
    ['limit', '0'],
    ['action', 'No such'],
    ['from', 'yesterday'],
  ])('refuses a bad %s', async (field, value) => {
    expect(await cli.failure('audit', 'list', '--org', org, `--${field}`, value)).toMatchObject({
      code: 'invalid_request',
      details: { validation: { [field]: [expect.any(String)] } },
    });
  });

  it('refuses an unknown organization', async () => {
    expect(await cli.failure('audit', 'list', '--org', newId())).toMatchObject({ code: 'resource_not_found' });
  });
});
