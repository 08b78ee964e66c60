import fc from 'fast-check';
import { csvRows } from './csv-rows';
import { readForm, SUPPRESSION_FORMS, type SuppressionForm } from './suppression-forms';

const read = (from: SuppressionForm, ...lines: string[]) =>
  [...readForm(from, lines.join('\n'))].flatMap(({ entry }) => entry ?? []);
/** Address and reason, or the fault. */
const short = (from: SuppressionForm, ...lines: string[]) =>
  read(from, ...lines).map((entry) => ('fault' in entry ? entry.fault : `${entry.email} ${entry.listedAs}`));

describe("another service's list", () => {
  it('of Amazon SES', () => {
    expect(
      read(
        'ses',
        '"EmailAddress","Reason","LastUpdateTime"',
        '"ada@x.example","BOUNCE","2026-03-04T05:06:07.000000+00:00"',
        '"bob@x.example","COMPLAINT","2026-03-05T05:06:07+00:00"',
      ),
    ).toEqual([
      { email: 'ada@x.example', listedAs: 'hard_bounce', notes: 'from Amazon SES, listed on 2026-03-04' },
      { email: 'bob@x.example', listedAs: 'spam_complaint', notes: 'from Amazon SES, listed on 2026-03-05' },
    ]);
    expect(
      short('ses', 'ada@x.example,BOUNCE', 'bob@x.example,COMPLAINT', 'eve@x.example', 'x@x.example,OTHER'),
    ).toEqual([
      'ada@x.example hard_bounce',
      'bob@x.example spam_complaint',
      'eve@x.example manual',
      'reason must be one of BOUNCE, COMPLAINT',
    ]);
  });

  it('of Postmark', () => {
    expect(
      short(
        'postmark',
        'EmailAddress,SuppressionReason,Origin,CreatedAt',
        'a@x.example,HardBounce,Recipient,2026-12-10T08:58:33-05:00',
        'b@x.example,SpamComplaint,Recipient,2026-12-10T08:58:33-05:00',
        'c@x.example,ManualSuppression,Recipient,2026-12-10T08:58:33-05:00',
        'd@x.example,ManualSuppression,Customer,2026-12-10T08:58:33-05:00',
        'e@x.example,Hard Bounce,Admin,',
      ),
    ).toEqual([
      'a@x.example hard_bounce',
      'b@x.example spam_complaint',
      'c@x.example unsubscribe',
      'd@x.example manual',
      'e@x.example hard_bounce',
    ]);
    // Without a head line, a value may read like the name of a column.
    expect(short('postmark', 'a@x.example,ManualSuppression,Recipient,')).toEqual(['a@x.example unsubscribe']);
  });

  it('of Mailgun: bounces, unsubscribes, complaints', () => {
    const date = 'Wed, 04 Mar 2026 05:06:07 UTC';
    const bounces = ['address,code,error,created_at', `a@x.example,550,"5.1.1 No such user, sorry","${date}"`];
    expect(short('mailgun', ...bounces)).toEqual(['a@x.example hard_bounce']);
    expect(short('mailgun', 'address,tags,created_at', `b@x.example,*,"${date}"`)).toEqual(['b@x.example unsubscribe']);
    expect(short('mailgun', 'address,created_at', `c@x.example,"${date}"`)).toEqual(['c@x.example spam_complaint']);
    expect(short('mailgun', 'd@x.example')).toEqual(['d@x.example manual']);
  });

  it('of SendGrid: bounces, invalid addresses, spam reports, unsubscribes', () => {
    expect(
      short(
        'sendgrid',
        'status,reason,email,created',
        '5.1.1,"550 5.1.1 unknown, really",a@x.example,1772600767',
        '4.0.0,busy,b@x.example,1772600767',
      ),
    ).toEqual(['a@x.example hard_bounce', 'status is a temporary refusal, which is no suppression']);
    expect(short('sendgrid', 'email,reason,created', 'c@x.example,no MX,1')).toEqual(['c@x.example hard_bounce']);
    expect(short('sendgrid', 'email,created,ip', 'd@x.example,1,192.0.2.1')).toEqual(['d@x.example spam_complaint']);
    expect(short('sendgrid', 'email,created', 'e@x.example,1')).toEqual(['e@x.example unsubscribe']);
  });

  it('of Resend', () => {
    const lines = ['a@x.example,bounce,2026-10-07T08:12:03.412Z', 'b@x.example,complaint,', 'c@x.example,manual,'];
    expect(short('resend', 'email,origin,created_at', ...lines)).toEqual([
      'a@x.example hard_bounce',
      'b@x.example spam_complaint',
      'c@x.example manual',
    ]);
    expect(read('resend', lines[0] ?? '')).toEqual([
      { email: 'a@x.example', listedAs: 'hard_bounce', notes: 'from Resend, listed on 2026-10-07' },
    ]);
    expect(short('resend', 'd@x.example,delivered')).toEqual(['origin must be one of bounce, complaint, manual']);
  });

  it('of our own: columns in any order, or a plain list', () => {
    expect(read('waybill', 'Reason,Email,notes', 'unsubscribe,a@x.example,"by phone, twice"')).toEqual([
      { email: 'a@x.example', listedAs: 'unsubscribe', notes: 'by phone, twice' },
    ]);
    expect(
      short('waybill', '\uFEFFa@x.example', '', 'b@x.example,hard_bounce', 'c@x.example,soft_bounce', ',manual'),
    ).toEqual([
      'a@x.example manual',
      'b@x.example hard_bounce',
      'reason soft_bounce ends by itself and cannot be imported',
      'The line has no address',
    ]);
  });
});

describe('a hostile file', () => {
  it('stays text: what a spreadsheet would execute is an address or none', () => {
    const formula = `=HYPERLINK("http://x.example"; "a")`;
    expect(read('waybill', `"${formula.replaceAll('"', '""')}",manual,=1+1`)).toEqual([
      { email: formula, listedAs: 'manual', notes: '=1+1' },
    ]);
    expect(short('waybill', "'+tag@x.example", "o'neill@x.example")).toEqual([
      '+tag@x.example manual',
      "o'neill@x.example manual",
    ]);
  });

  it('brings no control characters and no half characters into notes', () => {
    const [entry] = read('waybill', `a@x.example,manual,"b\0\u001bc${'d'.repeat(495)}\u{1f600}"`);
    expect(entry).toMatchObject({ notes: `b  c${'d'.repeat(495)}` });
  });

  it('does not find a reason in what every object has', () => {
    expect(short('ses', 'a@x.example,constructor', 'b@x.example,__proto__')).toEqual([
      'reason must be one of BOUNCE, COMPLAINT',
      'reason must be one of BOUNCE, COMPLAINT',
    ]);
  });

  it('is read to its end, whatever it holds', () => {
    const text = fc.string({
      unit: fc.constantFrom('email', 'reason', 'a@x.example', '"', ',', '\n', '=', '\0', '\uFEFF'),
    });
    fc.assert(
      fc.property(fc.constantFrom(...SUPPRESSION_FORMS), text, (from, given) => {
        for (const { entry } of readForm(from, given)) {
          if (entry && !('fault' in entry)) expect(entry.email).not.toBe('');
        }
      }),
    );
  });
});

const fieldsOf = (text: string) => [...csvRows(text)].map(({ fields }) => fields);
const linesOf = (text: string) => [...csvRows(text)].map(({ line, fields }) => [line, fields?.[0]]);

/** RFC 4180, every field in quotes. */
const written = (rows: readonly (readonly string[])[], end: string) =>
  rows.map((row) => row.map((field) => `"${field.replaceAll('"', '""')}"`).join(',') + end).join('');

describe('the rows of a CSV text', () => {
  it('are those that were written, whatever the fields hold', () => {
    const field = fc.string({ unit: fc.constantFrom('a', '"', ',', ';', ' ', '=', '\n', '\u00e9'), maxLength: 3 });
    const rows = fc.array(fc.array(field, { minLength: 1, maxLength: 5 }), { maxLength: 5 });
    fc.assert(
      fc.property(rows, fc.constantFrom('\n', '\r\n', '\r'), (given, end) => {
        expect(fieldsOf(written(given, end))).toEqual(given);
      }),
    );
  });

  it('go on to the end of every text, without a step back', () => {
    const text = fc.string({ unit: fc.constantFrom('a', '"', ',', '\n', '\r', ' ', '\uFEFF'), maxLength: 200 });
    fc.assert(
      fc.property(text, (given) => {
        let end = 0;
        let line = 0;
        for (const row of csvRows(given)) {
          expect(row.end).toBeGreaterThan(end);
          expect(row.line).toBeGreaterThan(line);
          ({ end, line } = row);
        }
        if (given !== '' && given !== '\uFEFF') expect(end).toBe(given.length);
      }),
    );
  });

  it('may have lines of every system, a byte order mark, and blanks around plain fields', () => {
    expect(fieldsOf('\uFEFFa,b\r\n"c, ""d""\ne",f\rg , h\n\n,')).toEqual([
      ['a', 'b'],
      ['c, "d"\ne', 'f'],
      ['g', 'h'],
      [''],
      ['', ''],
    ]);
    expect(fieldsOf('')).toEqual([]);
  });

  it('may have semicolons or tabs between their fields, whichever comes first outside of quotes', () => {
    const semicolons = ['"email, or none";"reason";notes', 'a@x.example;manual;called, wrote'];
    expect(fieldsOf(semicolons.join('\n'))).toEqual([
      ['email, or none', 'reason', 'notes'],
      ['a@x.example', 'manual', 'called, wrote'],
    ]);
    expect(fieldsOf('\uFEFFa@x.example\tmanual\tcalled, wrote; gone\r\nb@x.example\t\t"tab\there"')).toEqual([
      ['a@x.example', 'manual', 'called, wrote; gone'],
      ['b@x.example', '', 'tab\there'],
    ]);
    expect(fieldsOf('a@x.example\nb@x.example,manual,called; wrote; gone')).toEqual([
      ['a@x.example'],
      ['b@x.example', 'manual', 'called; wrote; gone'],
    ]);
    expect(short('waybill', 'Reason;Email', 'unsubscribe;a@x.example')).toEqual(['a@x.example unsubscribe']);
  });

  it('are counted by the lines of the file', () => {
    expect(linesOf('a\n"b\nb"\r\nc\n')).toEqual([
      [1, 'a'],
      [2, 'b\nb'],
      [4, 'c'],
    ]);
  });

  it('have no fields where a quote stands where none may, and the next line is read', () => {
    expect(linesOf('a\n"b"c\nd"e\nf\n')).toEqual([
      [1, 'a'],
      [2, undefined],
      [3, undefined],
      [4, 'f'],
    ]);
  });

  it('are not swallowed by a quote that is never closed', () => {
    expect(linesOf(`"open\n${'a@x.example\n'.repeat(3)}`)).toEqual([
      [1, undefined],
      [2, 'a@x.example'],
      [3, 'a@x.example'],
      [4, 'a@x.example'],
    ]);
    expect(linesOf(`"${'\n'.repeat(30)}"\n`)[0]).toEqual([1, undefined]);
    expect(fieldsOf(`"${'a'.repeat(70_000)}"\nb`)).toEqual([undefined, ['b']]);
    expect(fieldsOf(`${'a,'.repeat(300)}\nb`)).toEqual([undefined, ['b']]);
  });
});
