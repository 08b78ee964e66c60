import { randomUUID } from 'node:crypto';
import { kindOfKey } from '../../../src/auth/keys/key-format';
import { query } from '../embedded/support';
import { CliKit, runWith } from './cli-kit';

let cli: CliKit;
let org: string;
beforeAll(async () => {
  cli = await CliKit.createWarm();
  org = (await cli.json('org', 'create', 'Queue')).id;
});
afterAll(() => cli.destroy());

const deliveries = (count: number, destination: string) =>
  query(
    cli.url,
    `insert into deliveries (organization_id, mode, email_id, position, domain_id, recipient, destination, category, state, due_at, first_due_at)
     select '${org}', 'live', gen_random_uuid(), 0, gen_random_uuid(), 'a@${destination}', '${destination}', 'bulk', 'ready', now(), now()
     from generate_series(1, ${count})`,
  );

describe('waybill operator-key', () => {
  it('makes a key with both scopes, shows it once, and ends it', async () => {
    const created = await cli.json('operator-key', 'create', '--name', 'on call');
    expect(created).toEqual({
      id: expect.any(String),
      name: 'on call',
      scopes: ['operator:read', 'operator:manage'],
      prefix: created.key.slice(0, 10),
      createdAt: expect.any(String),
      key: expect.any(String),
    });
    expect(kindOfKey(created.key)).toBe('op');
    expect(
      await query(cli.url, `select * from operator_keys where operator_keys::text like '%${created.key}%'`),
    ).toEqual([]);
    expect(await cli.json('operator-key', 'list')).toEqual([{ ...created, key: undefined }]);
    expect(await cli.json('operator-key', 'revoke', created.id)).toEqual({ id: created.id, revoked: true });
    expect(await cli.json('operator-key', 'list')).toEqual([
      { ...created, key: undefined, revokedAt: expect.any(String) },
    ]);
  });

  it('takes scopes and an expiry', async () => {
    const options = ['--scopes', 'operator:read', '--expires', '2999-01-01'];
    expect(await cli.json('operator-key', 'create', '--name', 'x', ...options)).toMatchObject({
      scopes: ['operator:read'],
      expiresAt: '2999-01-01T00:00:00.000Z',
    });
  });

  it.each([
    ['--name', ''],
    ['--name', 'x', '--scopes', 'email:send'],
    ['--name', 'x', '--expires', 'tomorrow'],
    ['--name', 'x', '--expires', '2020-01-01'],
  ])('refuses %s %s %s', async (...options) => {
    expect((await cli.failure('operator-key', 'create', ...options)).code).toBe('invalid_request');
  });

  it('refuses an unknown key', async () => {
    expect((await cli.failure('operator-key', 'revoke', randomUUID())).code).toBe('resource_not_found');
  });
});

describe('waybill destinations', () => {
  it('pauses, limits, shows and resumes', async () => {
    const key = 'mx1.example.net';
    const paused = await cli.json('destinations', 'pause', key, '--until', '2999-01-01', '--reason', 'maintenance');
    expect(paused).toMatchObject({ key, state: 'paused', cause: 'maintenance', until: '2999-01-01T00:00:00.000Z' });
    await cli.json('destinations', 'limit', key, '--max-connections', '3', '--rate', '60');
    const resumed = await cli.json('destinations', 'resume', key);
    expect(resumed).toMatchObject({ state: 'slowed', maxConnections: 3, ratePerMinute: 60, cause: 'command line' });
    expect(await cli.json('destinations', 'show', key)).toEqual(resumed);
    expect(await cli.json('destinations', 'list')).toEqual([resumed]);
    await cli.json('destinations', 'limit', key, '--max-connections', 'none', '--rate', 'none');
    expect(await cli.json('destinations', 'list')).toEqual([]);
    expect((await cli.failure('destinations', 'show', key)).code).toBe('resource_not_found');
    expect((await cli.failure('destinations', 'limit', key, '--rate', '0')).code).toBe('invalid_request');
    expect((await cli.failure('destinations', 'limit', key)).message).toContain('give --max-connections');
  });

  it.each([
    [{ DELIVERY_MODE: 'direct', MAIL_HOST: 'mail.example.com' }, 'no mail has gone to gmail.con'],
    [{ DELIVERY_MODE: 'local' }, 'this has no effect: with DELIVERY_MODE=local all mail goes to 127.0.0.1, which'],
  ])('says that a key has no mail, or can have none: %j', async (mode, note) => {
    const environment = { ...cli.environment, ...mode };
    const { exitCode, stderr } = await runWith(environment, ['destinations', 'pause', 'gmail.con']);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: expect.stringContaining(note) });
    await cli.json('destinations', 'resume', 'gmail.con');
  });
});

describe('waybill queue', () => {
  it('counts, holds and releases without a worker', async () => {
    await deliveries(3, 'x.example');
    const counted = { ready: 3, waiting: 0, claimed: 0, held: 0, oldestSeconds: expect.any(Number) };
    expect(await cli.json('queue', 'list')).toEqual([{ key: org, name: 'Queue', ...counted }]);
    const held = await cli.json('queue', 'hold', '--destination', 'X.example', '--reason', 'down');
    expect(held).toEqual({
      id: expect.any(String),
      ...{ action: 'hold', status: 'completed', matched: 3, changed: 3, claimed: 0 },
    });
    expect(await cli.json('queue', 'list', '--by', 'destination')).toEqual([
      { key: 'x.example', ...counted, ready: 0, held: 3 },
    ]);
    expect(await cli.json('queue', 'release', '--org', org, '--reason', 'up')).toMatchObject({ changed: 3 });
    expect(await query(cli.url, `select actor, action from audit_log where action like 'queue.%' order by id`)).toEqual(
      [
        { actor: 'operator', action: 'queue.hold' },
        { actor: 'operator', action: 'queue.release' },
      ],
    );
  });

  it.each([
    ['hold', '--reason', 'x'],
    ['fail', '--recipient', 'nobody', '--reason', 'x'],
    ['list', '--by', 'colour'],
  ])('refuses %s %s %s', async (...args) => {
    expect((await cli.failure('queue', ...args)).code).toBe('invalid_request');
  });
});
