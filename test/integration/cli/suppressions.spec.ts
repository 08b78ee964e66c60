import { newId } from '../../../src/common/ids';
import { query } from '../embedded/support';
import { CliKit } from './cli-kit';

let cli: CliKit;
let org: string;
beforeAll(async () => {
  cli = await CliKit.createWarm();
});
afterAll(() => cli.destroy());
beforeEach(async () => {
  org = (await cli.json('org', 'create', 'Suppressions')).id;
});

const suppression = (command: string, ...args: string[]) => cli.json('suppression', command, org, ...args);

describe('waybill suppression', () => {
  it('adds for any reason, lists and removes', async () => {
    const added = await suppression('add', 'Ada@X.example', '--notes', 'on a block list');
    expect(added).toEqual({
      id: expect.any(String),
      email: 'Ada@x.example',
      reason: 'blocklist',
      source: 'api',
      suppressedAt: expect.any(String),
      notes: 'on a block list',
    });
    await suppression('add', 'ada@x.example', '--reason', 'hard_bounce');
    await suppression('add', 'b@x.example', '--reason', 'manual');
    expect(await suppression('list', '--reason', 'blocklist')).toEqual([added]);
    expect(await suppression('list', '--email', 'ADA@x.example')).toHaveLength(2);
    expect(await suppression('list', '--limit', '1', '--offset', '2')).toEqual([added]);
    expect(await suppression('list', '--mode', 'test')).toEqual([]);
    expect((await cli.run('suppression', 'list', org)).stdout).toMatch(/ada@x\.example +hard_bounce/);
    const removed = await suppression('remove', 'ada@x.example');
    expect(removed).toEqual({ email: 'ada@x.example', removed: true, reasons: ['blocklist', 'hard_bounce'] });
    expect(await suppression('list')).toMatchObject([{ email: 'b@x.example' }]);
    const audit = `select actor, action, data from audit_log
      where organization_id = '${org}' and action like 'suppression.%' order by id`;
    const record = (change: string, reason: string, mode = 'live') => ({
      actor: 'operator',
      action: `suppression.${change}`,
      data: { mode, reason },
    });
    expect(await query(cli.url, audit)).toEqual([
      record('added', 'blocklist'),
      record('added', 'hard_bounce'),
      record('added', 'manual'),
      record('removed', 'blocklist'),
      record('removed', 'hard_bounce'),
    ]);
  });

  it('keeps the modes apart', async () => {
    await suppression('add', 'a@x.example', '--mode', 'test');
    expect(await cli.failure('suppression', 'remove', org, 'a@x.example')).toEqual({
      code: 'resource_not_found',
      message: 'Suppression not found',
    });
    await suppression('remove', 'a@x.example', '--mode', 'test');
    expect(await suppression('list', '--mode', 'test')).toEqual([]);
  });

  it('refuses existing entries, invalid addresses and unknown reasons', async () => {
    await suppression('add', 'a@x.example');
    expect(await cli.failure('suppression', 'add', org, 'a@x.example')).toMatchObject({ code: 'suppression_exists' });
    for (const args of [
      ['add', org, 'nobody'],
      ['remove', org, 'nobody'],
      ['list', org, '--email', 'nobody'],
    ]) {
      expect(await cli.failure('suppression', ...args)).toMatchObject({
        code: 'invalid_request',
        details: { validation: { email: [expect.any(String)] } },
      });
    }
    for (const args of [
      ['add', org, 'b@x.example', '--notes', 'n'.repeat(501)],
      ['add', org, 'b@x.example', '--reason', 'dislike'],
      ['list', org, '--reason', 'dislike'],
      ['list', org, '--limit', '0'],
    ]) {
      expect(await cli.failure('suppression', ...args)).toMatchObject({ code: 'invalid_request' });
    }
    for (const args of [['list'], ['add', 'a@x.example'], ['remove', 'a@x.example']]) {
      const [command = '', ...rest] = args;
      expect(await cli.failure('suppression', command, newId(), ...rest)).toMatchObject({ code: 'resource_not_found' });
    }
  });
});
