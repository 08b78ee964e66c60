import { newId } from '../../../src/common/ids';
import { CliKit } from './cli-kit';

let cli: CliKit;
beforeAll(async () => (cli = await CliKit.createWarm()));
afterAll(() => cli.destroy());

describe('waybill org', () => {
  it('creates, lists, suspends and resumes', async () => {
    const created = await cli.json('org', 'create', '  Acme Corp  ');
    expect(created).toEqual({ id: expect.stringMatching(/^[0-9a-f-]{36}$/), name: 'Acme Corp' });

    expect(await cli.json('org', 'suspend', created.id)).toEqual({ ...created, status: 'suspended' });
    expect(await cli.json('org', 'list')).toContainEqual({
      ...created,
      status: 'suspended',
      createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
    });
    expect(await cli.json('org', 'resume', created.id.toUpperCase())).toEqual({ ...created, status: 'active' });
  });

  it('shows people lines', async () => {
    const { exitCode, stdout, stderr } = await cli.run('org', 'create', 'For people\u001b[31m');
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toMatch(/^id {4}[0-9a-f-]{36}\nname {2}For people\?\[31m\n$/);
    expect((await cli.run('org', 'list')).stdout).toMatch(/^id +name +status +createdAt\n/);
  });

  it('shows and changes what is tracked, one or both', async () => {
    const created = await cli.json('org', 'create', 'Trackers');
    const tracking = (...options: string[]) => cli.json('org', 'tracking', created.id, ...options);
    expect(await tracking()).toEqual({ ...created, trackOpens: false, trackClicks: false });
    expect(await tracking('--clicks', 'on')).toEqual({ ...created, trackOpens: false, trackClicks: true });
    expect(await tracking('--opens', 'on', '--clicks', 'off')).toEqual({
      ...created,
      trackOpens: true,
      trackClicks: false,
    });
    expect(await tracking()).toEqual({ ...created, trackOpens: true, trackClicks: false });
    expect((await cli.run('org', 'tracking', created.id)).stdout).toMatch(/\nopens +on\nclicks +off\n$/);
    expect(await cli.failure('org', 'tracking', created.id, '--opens', 'yes')).toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining('on or off'),
    });
    expect(await cli.failure('org', 'tracking', newId(), '--opens', 'on')).toMatchObject({
      code: 'resource_not_found',
    });
  });

  it('sets the share of the deliveries', async () => {
    const created = await cli.json('org', 'create', 'Heavy');
    expect(await cli.json('org', 'weight', created.id, '100')).toEqual({ ...created, weight: 100 });
    for (const weight of ['0', '101', '1.5', 'much']) {
      expect(await cli.failure('org', 'weight', created.id, weight)).toMatchObject({ code: 'invalid_request' });
    }
    expect(await cli.failure('org', 'weight', newId(), '2')).toMatchObject({ code: 'resource_not_found' });
  });

  it('limits the recipients in a month', async () => {
    const created = await cli.json('org', 'create', 'Unknown');
    expect(await cli.json('org', 'limit', created.id, '5000')).toEqual({ ...created, monthlyRecipients: 5_000 });
    expect(await cli.json('org', 'limit', created.id, 'none')).toEqual({ ...created, monthlyRecipients: null });
    for (const limit of ['0', '-1', 'many']) {
      expect(await cli.failure('org', 'limit', created.id, limit)).toMatchObject({ code: 'invalid_request' });
    }
    expect(await cli.failure('org', 'limit', newId(), '2')).toMatchObject({ code: 'resource_not_found' });
  });

  it.each(['suspend', 'resume', 'tracking'])('reports an unknown id: %s', async (command) => {
    expect(await cli.failure('org', command, newId())).toEqual({
      code: 'resource_not_found',
      message: 'Organization not found',
    });
  });

  it('refuses a name that is none', async () => {
    expect(await cli.failure('org', 'create', '  ')).toMatchObject({ code: 'invalid_request' });
    const { exitCode, stdout, stderr } = await cli.run('org', 'create', '');
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toBe('waybill: An organization needs a name of 1 to 200 characters\n');
  });
});
