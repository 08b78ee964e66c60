import { createPublicKey } from 'node:crypto';
import { newId } from '../../../src/common/ids';
import { query } from '../embedded/support';
import { CliKit } from './cli-kit';

let cli: CliKit;
let org: string;
beforeAll(async () => {
  cli = await CliKit.createWarm();
  org = (await cli.json('org', 'create', 'Domains')).id;
});
afterAll(() => cli.destroy());

describe('waybill domain', () => {
  it('adds a domain and shows the records to publish', async () => {
    const added = await cli.json('domain', 'add', org, 'Mail.Example.COM.');
    expect(added).toEqual({
      id: expect.any(String),
      domain: 'mail.example.com',
      verification_status: 'pending',
      dkim_selector: 'wb1',
      dkim_record: { host: 'wb1._domainkey.mail.example.com', value: expect.stringMatching(/^v=DKIM1; k=rsa; p=/) },
      records: expect.arrayContaining([
        {
          purpose: 'verification',
          type: 'TXT',
          host: '_waybill.mail.example.com',
          value: expect.stringMatching(/^waybill-verification=[0-9a-f]{32}$/),
        },
        { purpose: 'dkim', type: 'TXT', ...added.dkim_record },
      ]),
    });
    expect((await cli.run('domain', 'add', org, 'text.example.com')).stdout).toMatch(
      /^spf +TXT +text\.example\.com +v=spf1 include:/m,
    );
    const published = added.dkim_record.value.split('p=')[1];
    const key = createPublicKey({ key: Buffer.from(published, 'base64'), format: 'der', type: 'spki' });
    expect(key.asymmetricKeyDetails?.modulusLength).toBe(2048);
    const stored = await query(cli.url, `select public_key from dkim_keys where domain_id = '${added.id}'`);
    expect(stored).toEqual([{ public_key: published }]);
  });

  it('marks it verified by name or by id, and lists it', async () => {
    const first = await cli.json('domain', 'add', org, 'one.example.com');
    const second = await cli.json('domain', 'add', org, 'two.example.com');
    for (const [domain, named] of [
      [first, 'ONE.example.com'],
      [second, second.id],
    ]) {
      expect(await cli.json('domain', 'mark-verified', org, named)).toEqual({
        id: domain.id,
        domain: domain.domain,
        verification_status: 'verified',
      });
    }
    const listed = await cli.json('domain', 'list', org);
    expect(listed).toContainEqual({
      id: first.id,
      domain: 'one.example.com',
      verification_status: 'verified',
      dkim_status: 'verified',
      dkim_selector: 'wb1',
      warming_status: 'not_started',
      is_default: false,
      created_at: expect.any(String),
    });
    expect((await cli.run('domain', 'list', org)).stdout).toMatch(/one\.example\.com +verified/);
  });

  it('refuses a domain that another organization has verified, and an invalid one', async () => {
    await cli.json('domain', 'add', org, 'taken.example.com');
    await cli.json('domain', 'mark-verified', org, 'taken.example.com');
    const other = (await cli.json('org', 'create', 'Other')).id;
    expect(await cli.failure('domain', 'add', other, 'taken.example.com')).toMatchObject({
      code: 'domain_already_exists',
    });
    expect(await cli.failure('domain', 'add', other, 'co.uk')).toMatchObject({
      code: 'invalid_request',
      details: { validation: { domain: [expect.any(String)] } },
    });
    expect(await cli.json('domain', 'list', other)).toEqual([]);
    expect((await cli.run('domain', 'list', other)).stdout).toBe('(none)\n');
  });

  it('reports unknown organizations and domains', async () => {
    const organization = { code: 'resource_not_found', message: 'Organization not found' };
    expect(await cli.failure('domain', 'add', newId(), 'x.example.com')).toEqual(organization);
    expect(await cli.failure('domain', 'list', newId())).toEqual(organization);
    expect(await cli.failure('domain', 'mark-verified', newId(), 'one.example.com')).toEqual(organization);
    for (const nobody of [newId(), 'nobody.example.com']) {
      expect(await cli.failure('domain', 'mark-verified', org, nobody)).toEqual({
        code: 'resource_not_found',
        message: 'Domain not found',
      });
    }
  });
});
