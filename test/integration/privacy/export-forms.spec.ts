import { addSuppression } from '../../factories/tenants';
import { storeEmail } from '../../factories/subject-emails';
import { parseCsv } from '../../setup/parse-csv';
import { readZip } from '../../setup/read-zip';
import { dataOf, PrivacyScene, type Requester } from './privacy-scene';

const ADA = 'ada@example.com';
const CSV_TYPE = 'text/csv; charset=utf-8; header=present';

describe('the forms of a result', () => {
  let scene: PrivacyScene;
  let acme: Requester;
  let asJson: string;
  let asCsv: string;
  let emailId: string;

  beforeAll(async () => {
    scene = await PrivacyScene.open();
    acme = await scene.requester();
    const { organizationId } = acme;
    emailId = await storeEmail(scene.db, {
      organizationId,
      to: [ADA, 'bob@example.com'],
      subject: '=HYPERLINK("http://x.example")',
      html: '<p>"Hi",\r\nAda\u2028 ✉</p>',
      text: '-1+2',
      events: [{ type: 'bounced', data: { recipient: ADA, response: '550 "no", really' } }],
    });
    const second = await storeEmail(scene.db, { organizationId, to: [ADA], html: null, text: null });
    await scene.db.query('update emails set tags = $2 where id = $1', [second, ['a, b', 'c']]);
    const third = await storeEmail(scene.db, { organizationId, to: [ADA], html: null, text: null });
    await scene.db.query('update emails set tags = $2 where id = $1', [third, ['["a', 'b"]']]);
    await addSuppression(scene.db, { organizationId } as never, { email: 'Ada@example.com', reason: 'hard_bounce' });
    asJson = await scene.request(acme.api, ADA);
    asCsv = await scene.request(acme.api, ADA, { format: 'csv' });
    await scene.work();
  });
  afterAll(() => scene.close());

  const download = async (id: string, accept: string, query = '') => {
    const { api } = acme;
    return api.call('GET', `/v1/gdpr/export/${id}${query}`, undefined, { accept });
  };

  it('csv: three files in the response, in which spreadsheets execute nothing', async () => {
    const { format, exportedData } = await scene.read(acme.api, asCsv);
    const { emails, events, suppressions } = exportedData;
    expect([format, typeof emails, typeof events, typeof suppressions]).toEqual(['csv', 'string', 'string', 'string']);
    const [first, second, third] = parseCsv(emails);
    expect(first).toEqual({
      ...{ id: emailId, fromEmail: 'shop@acme.example', toEmails: 'ada@example.com, [redacted]', ccEmails: '' },
      ...{ bccEmails: '', subject: `'=HYPERLINK("http://x.example")`, status: 'delivered' },
      ...{ htmlBody: '<p>"Hi",\r\nAda\u2028 ✉</p>', textBody: "'-1+2", createdAt: expect.any(String) },
      ...{ replyTo: '', tags: '', metadata: '', headers: '', attachments: '' },
    });
    expect(second).toMatchObject({ htmlBody: '', textBody: '', tags: '["a, b","c"]' });
    expect(JSON.parse(third?.tags ?? '')).toEqual(['["a', 'b"]']);
    expect(parseCsv(events).map(({ eventType, eventData }) => [eventType, JSON.parse(eventData ?? '')])).toEqual([
      ['queued', {}],
      ['bounced', { recipient: ADA, response: '550 "no", really' }],
      ['queued', {}],
      ['queued', {}],
    ]);
    expect(parseCsv(suppressions)).toEqual([
      {
        ...{ id: expect.any(String), email: 'Ada@example.com', reason: 'hard_bounce' },
        ...{ suppressedAt: expect.any(String), notes: '' },
      },
    ]);
  });

  it('text/csv: one of the files, whatever the format', async () => {
    const { exportedData } = await scene.read(acme.api, asCsv);
    for (const id of [asCsv, asJson]) {
      for (const [section, query] of [
        ['emails', ''],
        ['events', '?section=events'],
        ['suppressions', '?section=suppressions'],
      ]) {
        const { status, headers, body } = await download(id, 'text/csv', query);
        expect([status, headers.get('content-type')]).toEqual([200, CSV_TYPE]);
        expect(headers.get('content-disposition')).toBe(`attachment; filename="${id}-${section}.csv"`);
        expect(body).toBe(exportedData[section ?? '']);
      }
    }
  });

  it.each(['json', 'csv'])('application/zip: all of them as %s', async (format) => {
    const id = format === 'json' ? asJson : asCsv;
    const { exportedData } = await scene.read(acme.api, id);
    const { headers, bytes } = await scene.download(acme, id, 'application/zip');
    expect(headers.get('content-type')).toBe('application/zip');
    expect(headers.get('content-disposition')).toBe(`attachment; filename="${id}.zip"`);
    const files = readZip(bytes);
    expect(Object.keys(files)).toEqual([`emails.${format}`, `events.${format}`, `suppressions.${format}`]);
    for (const [section, expected] of Object.entries(exportedData)) {
      const text = files[`${section}.${format}`] ?? '';
      expect(format === 'json' ? JSON.parse(text) : text).toEqual(expected);
    }
  });

  it('is refused as a download while the export is open', async () => {
    const id = await scene.request(acme.api, 'later@example.com');
    for (const accept of ['text/csv', 'application/zip']) {
      const { status, body } = await download(id, accept);
      expect([status, body.error.code]).toEqual([409, 'export_not_available']);
    }
    expect(dataOf(await download(id, 'application/json')).status).toBe('processing');
    await scene.work();
  });

  it('breaks off when a part has gone', async () => {
    const id = await scene.request(acme.api, ADA, { format: 'json' });
    await scene.work();
    await scene.db.query(`delete from privacy_export_parts where request_id = $1 and section = 'events'`, [id]);
    await expect(acme.api.get(`/v1/gdpr/export/${id}`)).rejects.toThrow();
    await expect(scene.download(acme, id, 'application/zip')).rejects.toThrow();
    expect(dataOf(await acme.api.get('/v1/gdpr/status')).total).toBeGreaterThan(0);
  });
});
