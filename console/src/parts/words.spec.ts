import { hostInZone } from '../pages/domains/host-in-zone';
import { shellQuote, toCurl } from '../pages/email/to-curl';
import { whyItWaits } from './email-words';
import { fromNow, percent, plural, words } from './format';
import { before, inSteps, lastHours, weeksOf } from './status-range';

const NOW = Date.parse('2026-03-04T12:00:00Z');

describe('figures and times', () => {
  it.each([
    ['2026-03-04T11:59:58Z', 'just now'],
    ['2026-03-04T11:59:20Z', '40 sec. ago'],
    ['2026-03-04T11:30:00Z', '30 min. ago'],
    ['2026-03-04T15:00:00Z', 'in 3 hr.'],
    ['2026-03-02T12:00:00Z', '2 days ago'],
  ])('%s is %s', (iso, text) => {
    expect(fromNow(iso, NOW)).toBe(text);
  });

  it('are short, and not rounded to nothing', () => {
    expect([percent(0), percent(0.0004), percent(0.5), percent(1)]).toEqual(['0.0 %', '0.04 %', '50.0 %', '100.0 %']);
    expect([plural(1, 'email'), plural(2_000, 'address', 'addresses')]).toEqual(['1 email', '2,000 addresses']);
    expect(words('email.hard_bounce')).toBe('Email hard bounce');
  });
});

describe('periods', () => {
  it('end with the hour that has begun, and have one before them', () => {
    const period = lastHours(24, NOW + 1);
    expect(period).toEqual({ from: '2026-03-03T13:00:00.000Z', to: '2026-03-04T13:00:00.000Z' });
    expect(before(period)).toEqual({ from: '2026-03-02T13:00:00.000Z', to: period.from });
  });

  it('are cut into weeks without a gap', () => {
    const weeks = weeksOf(lastHours(720, NOW));
    expect(weeks).toHaveLength(5);
    expect(weeks.slice(1).map(({ from }) => from)).toEqual(weeks.slice(0, -1).map(({ to }) => to));
    expect(weeks.at(-1)?.to).toBe('2026-03-04T12:00:00.000Z');
  });

  it('add their hours up in steps', () => {
    const hour = (at: number) => ({
      hour: `h${at}`,
      timestamp: '',
      total: 1,
      sent: 1,
      delivered: 1,
      bounced: 0,
      opens: 0,
      clicks: at,
    });
    const steps = inSteps([0, 1, 2, 3, 4].map(hour), 2);
    expect(steps.map(({ hour: at, total, clicks }) => [at, total, clicks])).toEqual([
      ['h0', 2, 1],
      ['h2', 2, 5],
      ['h4', 1, 4],
    ]);
  });
});

describe('why a recipient waits', () => {
  const recipient = { email: 'a@x.example', kind: 'to' as const, status: 'queued' as const, attempts: 2 };
  const deferred = {
    ...{ id: '1', eventType: 'deferred' as const, source: 'smtp' as const, timestamp: '' },
    eventData: { recipient: 'a@x.example', response: '450 4.2.1 busy' },
  };

  it('is said by the service where it knows', () => {
    const waiting = { reason: 'destination_paused', until: '2026-03-04T12:00:00Z' };
    expect(whyItWaits({ events: [] }, { ...recipient, waiting })).toMatch(
      /^Sending to its destination is paused\. Next: .*2026/,
    );
    expect(whyItWaits({ events: [] }, { ...recipient, waiting: { reason: 'held', detail: 'Held: spam?' } })).toBe(
      'Held: spam?',
    );
  });

  it('follows from its events else', () => {
    const next = { nextAttemptAt: '2026-03-04T12:00:00Z' };
    expect(whyItWaits({ events: [deferred] }, { ...recipient, ...next })).toMatch(
      /^Attempt 2 was put off: the server said “450 4.2.1 busy”\. It is tried again at/,
    );
    expect(whyItWaits({ events: [] }, recipient)).toBe('It is ready and waits for its turn.');
    expect(
      whyItWaits({ events: [], scheduledFor: '2026-03-04T12:00:00Z' }, { ...recipient, status: 'scheduled' }),
    ).toMatch(/^It is scheduled for/);
    for (const status of ['delivered', 'bounced', 'failed'] as const) {
      expect(whyItWaits({ events: [deferred] }, { ...recipient, status })).toBeUndefined();
    }
  });
});

describe('an email as a curl command', () => {
  it('is what a shell reads back, whatever is in it', () => {
    expect(shellQuote(`it's "$(x)" \`y\``)).toBe(`'it'\\''s "$(x)" \`y\`'`);
    const email = {
      fromEmail: 'a@x.example',
      fromName: "O'Neill",
      toEmails: ['b@x.example'],
      subject: "it's",
      tags: [],
      events: [],
      recipients: [],
    };
    const command = toCurl(email as never, { text: 'hi' }, 'https://mail.example');
    expect(command).toContain(`curl -sS 'https://mail.example/v1/emails'`);
    expect(command).toContain('"Authorization: Bearer $WAYBILL_KEY"');
    expect(command).toContain(`"name":"O'\\''Neill"`);
    expect(command).toContain(`"text":"hi"`);
  });
});

describe('the short name of a record', () => {
  it.each([
    ['_dmarc.mail.example.co.uk', { domain: 'mail.example.co.uk', subdomain: 'mail' }, '_dmarc.mail'],
    ['mail.example.com', { domain: 'mail.example.com', subdomain: 'mail' }, 'mail'],
    ['example.com', { domain: 'example.com', subdomain: null }, '@'],
    ['_waybill.example.com', { domain: 'example.com', subdomain: null }, '_waybill'],
  ])('of %s is relative to the zone', (host, domain, short) => {
    expect(hostInZone(host, domain)).toBe(short);
  });
});
