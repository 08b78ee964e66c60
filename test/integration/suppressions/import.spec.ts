import { OPERATOR } from '../../../src/audit/audit.service';
import { SuppressionImportService } from '../../../src/modules/suppressions/suppression-import.service';
import { DomainsApp, type Owner } from '../domains/domains-app';

let app: DomainsApp;
let acme: Owner;
beforeAll(async () => {
  app = await DomainsApp.start();
});
afterAll(() => app.close());
beforeEach(async () => {
  acme = await app.owner();
});

const PATH = '/v1/suppressions';
const importFile = (from: string, csv: string) => acme.api.post(`${PATH}/import`, { from, csv });

async function listed(): Promise<Record<string, string>> {
  const { body } = await acme.api.get(`${PATH}?limit=100`);
  return Object.fromEntries(body.data.map(({ email, reason }: any) => [email, reason]));
}

describe('POST /v1/suppressions/import', () => {
  it('adds the entries of a file, and reports the rest by line', async () => {
    await acme.api.post(PATH, { email: 'known@x.example', reason: 'manual' });
    const csv = [
      'EmailAddress,SuppressionReason,Origin,CreatedAt',
      'bounced@x.example,HardBounce,Recipient,2026-03-04T05:06:07Z',
      'left@x.example,ManualSuppression,Recipient,2026-03-04T05:06:07Z',
      'KNOWN@x.example,SpamComplaint,Recipient,',
      'left@x.example,ManualSuppression,Recipient,',
      'no address,HardBounce,Recipient,',
      '*@x.example,HardBounce,Recipient,',
      '"open',
    ].join('\r\n');
    const { status, body } = await importFile('postmark', csv);
    expect(status).toBe(201);
    expect(body.data).toEqual({
      ...{ total: 7, added: 2, duplicates: 2, invalid: 3 },
      refused: [
        { line: 6, email: 'no address', error: expect.stringContaining('must be one address') },
        { line: 7, email: '*@x.example', error: expect.stringContaining('pattern') },
        { line: 8, error: expect.stringContaining('quote') },
      ],
    });
    // The owner's list: what the receiving side has said to another service comes as manual.
    expect(await listed()).toEqual({
      'known@x.example': 'manual',
      'bounced@x.example': 'manual',
      'left@x.example': 'unsubscribe',
    });
  });

  it('adds nothing the second time', async () => {
    const csv = Array.from({ length: 2_500 }, (_, index) => `a${index}@x.example,BOUNCE`).join('\n');
    expect((await importFile('ses', csv)).body.data).toMatchObject({ total: 2_500, added: 2_500, duplicates: 0 });
    expect((await importFile('ses', csv)).body.data).toMatchObject({ total: 2_500, added: 0, duplicates: 2_500 });
  });

  it('names the first 100 of many invalid lines', async () => {
    const { body } = await importFile('waybill', 'nobody\n'.repeat(150));
    expect([body.data.invalid, body.data.refused.length]).toEqual([150, 100]);
  });

  it('refuses an unknown service, a file that is too large, and too many lines', async () => {
    expect((await importFile('mailchimp', 'a@x.example')).status).toBe(400);
    const large = await importFile('waybill', 'é'.repeat(5 * 1024 * 1024 + 1));
    expect([large.status, large.body.error.code]).toEqual([413, 'payload_too_large']);
    const many = await importFile('waybill', '-\n'.repeat(200_001));
    expect([many.status, many.body.error.details]).toEqual([413, { maxLines: 200_000 }]);
  });

  it('refuses a file in UTF-16 that was read as UTF-8, and says what to do', async () => {
    const file = Buffer.from('\ufeffEmail\r\na@x.example\r\n', 'utf16le');
    const { status, body } = await importFile('waybill', file.toString('utf8'));
    expect([status, body.error.code]).toEqual([400, 'invalid_request']);
    expect(body.error.details.validation.csv[0]).toContain('decode it as UTF-16');
    const tabs = await importFile('waybill', 'Email\tReason\r\na@x.example\tmanual\r\n');
    expect(tabs.body.data).toMatchObject({ added: 1, invalid: 0 });
  });

  it('stays with its tenant', async () => {
    const other = await app.owner();
    await importFile('ses', 'mine@x.example,BOUNCE');
    expect((await other.api.get(PATH)).body.pagination.total).toBe(0);
  });
});

it('the operator keeps the reasons', async () => {
  const owner = { organizationId: acme.organizationId, mode: 'live' as const };
  const report = await app.get(SuppressionImportService).import({
    ...{ owner, form: 'ses', csv: 'a@x.example,BOUNCE\nb@x.example,COMPLAINT', actor: OPERATOR, keepReasons: true },
  });
  expect(report).toEqual({ total: 2, added: 2, duplicates: 0, invalid: 0, refused: [] });
  expect(await listed()).toEqual({ 'a@x.example': 'hard_bounce', 'b@x.example': 'spam_complaint' });
});
