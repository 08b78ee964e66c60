import { randomUUID } from 'node:crypto';
import { CliKit } from './cli-kit';

describe('waybill inbound-route', () => {
  let cli: CliKit;
  let org: string;
  beforeAll(async () => {
    cli = await CliKit.createWarm();
    org = (await cli.json('org', 'create', 'Inbound')).id;
    await cli.json('domain', 'add', org, 'example.org');
  });
  afterAll(() => cli.destroy());

  it('takes mail to verified domains, and no more once it is removed', async () => {
    const early = await cli.failure('inbound-route', 'add', org, '*@in.example.org');
    expect(early.code).toBe('domain_not_verified');
    await cli.json('domain', 'mark-verified', org, 'example.org');
    const route = await cli.json('inbound-route', 'add', org, '*@in.example.org');
    expect(route).toMatchObject({ address: '*@in.example.org' });
    const other = await cli.json('inbound-route', 'add', org, 'Help@example.org');
    expect(await cli.json('inbound-route', 'list', org)).toEqual({
      routes: [route, other],
      stored: { emails: 0, bytes: 0, maxBytes: 10 * 1024 ** 3 },
    });
    const removed = await cli.json('inbound-route', 'remove', org, 'help@Example.org');
    expect(removed).toEqual({ id: other.id, address: 'help@example.org', deleted: true });
    expect((await cli.failure('inbound-route', 'remove', org, other.id)).code).toBe('resource_not_found');
    expect((await cli.json('inbound-route', 'list', org)).routes).toEqual([route]);
  });

  it('names the cause of a refusal', async () => {
    const webhook = await cli.failure('inbound-route', 'add', org, 'a@example.org', '--webhook', randomUUID());
    expect(webhook.details?.validation).toHaveProperty('webhookId');
    expect((await cli.failure('inbound-route', 'list', randomUUID())).code).toBe('resource_not_found');
  });
});
