import { EVENT_TYPES, INBOUND_RECEIVED } from '../../../src/common/event-types';
import { ALL_SCOPES } from '../../../src/common/http/scopes';
import { SMTP_PHASES } from '../../../src/delivery/ports/attempt-trace';
import { WAITING_REASONS } from '../../../src/delivery/queue/waiting';
import type { Destination, EgressPool } from '../api/types';
import { hostInZone } from '../pages/domains/host-in-zone';
import { SCOPES } from '../pages/keys/scopes';
import { isSpike } from '../pages/overview/is-spike';
import { LISTENED_TYPES } from './event-types';
import { detailsOf, whoActed } from './audit-words';
import { adviceFor, adviceForPool } from './destination-words';
import { endedWhere, replyText, saidOf, whyItEnded, whyItWaits } from './email-words';
import { fromNow, moment, percent, plural, shareOf, visible, words } from './format';

const NOW = Date.parse('2026-03-04T12:00:00Z');

describe('scopes of keys', () => {
  it('are all explained where keys are made', () => {
    expect(Object.keys(SCOPES).sort()).toEqual([...ALL_SCOPES].sort());
  });
});

describe('events of webhooks', () => {
  it('are all those that the service accepts', () => {
    expect(LISTENED_TYPES).toEqual([...EVENT_TYPES, INBOUND_RECEIVED]);
  });
});

describe('figures and times', () => {
  it.each([
    ['2026-03-04T11:59:58Z', 'just now'],
    ['2026-03-04T11:59:20Z', '40 sec. ago'],
    ['2026-03-04T11:30:00Z', '30 min. ago'],
    ['2026-03-04T11:00:20Z', '1 hr. ago'],
    ['2026-03-03T12:10:00Z', 'yesterday'],
    ['2026-03-04T15:00:00Z', 'in 3 hr.'],
    ['2026-03-02T12:00:00Z', '2 days ago'],
  ])('%s is %s', (iso, text) => {
    expect(fromNow(iso, NOW)).toBe(text);
  });

  it('names the time zone of a moment', () => {
    const zone = new Intl.DateTimeFormat('en', { timeZoneName: 'short' }).formatToParts(NOW);
    expect(moment(new Date(NOW).toISOString()).endsWith(` ${zone.at(-1)?.value}`)).toBe(true);
  });

  it('are short, and not rounded to nothing', () => {
    expect([percent(0), percent(0.0004), percent(0.5), percent(1)]).toEqual(
      ['0.0', '0.04', '50.0', '100.0'].map((n) => `${n}\u00a0%`),
    );
    // One bounce of three thousand is not nothing, and the rest is not everything.
    expect([percent(0.9996), percent(0.00002), percent(0.99998), percent(0.999)]).toEqual(
      ['99.96', '<\u00a00.01', '>\u00a099.99', '99.9'].map((n) => `${n}\u00a0%`),
    );
    expect([shareOf(0, 0), shareOf(0, 5)]).toEqual(['–', '0.0\u00a0%']);
    expect([plural(1, 'email'), plural(2_000, 'address', 'addresses')]).toEqual(['1 email', '2,000 addresses']);
    expect(words('email.hard_bounce')).toBe('Email hard bounce');
  });
});

describe('why a recipient waits', () => {
  const recipient = { email: 'a@x.example', kind: 'to' as const, status: 'queued' as const, attempts: 2 };
  const deferred = {
    ...{ id: '1', eventType: 'deferred' as const, source: 'smtp' as const, timestamp: '' },
    eventData: { recipient: 'a@x.example', response: '450 4.2.1 busy' },
  };

  it('is said by the service where it knows, with what to do', () => {
    const waiting = { reason: 'destination_paused', until: '2026-03-04T12:00:00Z' };
    expect(whyItWaits({ events: [] }, { ...recipient, waiting })).toEqual({
      ...{ because: 'Sending to its destination is paused.', until: waiting.until },
      advice: expect.stringContaining('ask the operator'),
    });
    const said = (detail: string) => whyItWaits({ events: [] }, { ...recipient, waiting: { reason: 'held', detail } });
    expect([said('An operator has put it aside')?.because, said('Held: spam?')?.because]).toEqual([
      'An operator has put it aside.',
      'Held: spam?',
    ]);
    expect(whyItWaits({ events: [] }, { ...recipient, waiting: { reason: 'new_reason' } })).toEqual({
      because: 'New reason.',
    });
  });

  it('has something to do, or to wait for, for every reason there is', () => {
    for (const reason of WAITING_REASONS.filter((each) => each !== 'sending')) {
      expect([reason, whyItWaits({ events: [] }, { ...recipient, waiting: { reason } })?.advice]).toEqual([
        reason,
        expect.any(String),
      ]);
    }
  });

  it('follows from its events else', () => {
    const until = '2026-03-04T12:00:00Z';
    expect(whyItWaits({ events: [deferred] }, { ...recipient, nextAttemptAt: until })).toEqual({
      ...{ because: 'Attempt 2 was deferred: the server said “450 4.2.1 busy”.', until },
    });
    expect(whyItWaits({ events: [] }, recipient)).toEqual({ because: 'It is ready and waits for its turn.' });
    expect(whyItWaits({ events: [], scheduledFor: until }, { ...recipient, status: 'scheduled' })).toEqual({
      ...{ because: 'It is scheduled.', until },
    });
    for (const status of ['delivered', 'bounced', 'failed'] as const) {
      expect(whyItWaits({ events: [deferred] }, { ...recipient, status })).toBeUndefined();
    }
  });
});

describe('why a copy has ended without arriving', () => {
  const bounced = (recipient: string, explanation?: string) => ({
    ...{ id: '1', eventType: 'bounced' as const, source: 'smtp' as const, timestamp: '' },
    eventData: { recipient, ...(explanation !== undefined && { explanation }) },
  });
  const events = [bounced('a@x.example', 'There is no such mailbox'), bounced('b@x.example')];
  const of = (email: string, status: 'bounced' | 'delivered' | 'sending') => whyItEnded({ events }, { email, status });

  it('is what the service says of this recipient, or else what happened', () => {
    expect(of('a@x.example', 'bounced')).toBe('There is no such mailbox.');
    expect(of('b@x.example', 'bounced')).toBe('Refused permanently.');
    expect(of('c@x.example', 'bounced')).toBeUndefined();
  });

  it('is nothing of one that has arrived, or that is still under way', () => {
    expect([of('a@x.example', 'delivered'), of('a@x.example', 'sending')]).toEqual([undefined, undefined]);
  });
});

describe('a text from outside', () => {
  it('hides nothing', () => {
    expect(visible('a\u202Egpj.exe\u0007\u2067b\u2028')).toBe('a⟨U+202E⟩gpj.exe⟨U+0007⟩⟨U+2067⟩b⟨U+2028⟩');
    for (const text of ['Ünïcode 😀', 'שלום\u200F, عالم', 'two\nlines\tand more']) expect(visible(text)).toBe(text);
  });
});

describe('what is said of an attempt', () => {
  const attempt = { recipient: 'a@x.example', attempt: 1, startedAt: '', durationMs: 1, outcome: 'deferred' as const };
  const of = (fields: object, eventData = {}) => saidOf({ eventData }, { ...attempt, ...fields });
  const reply = { code: 250, lines: ['250 ok'] };

  it('is what the service says, the reply, and what happened where there was none', () => {
    expect(of({ reply, explanation: 'That has no meaning' })).toEqual({
      ...{ explanation: 'That has no meaning.', reply: '250 ok' },
    });
    expect(of({ failure: 'The server closed the connection' })).toEqual({
      failure: 'The server closed the connection',
    });
    expect(saidOf({ eventData: { explanation: 'Paused', response: 'no more' } })).toEqual({
      ...{ explanation: 'Paused.', reply: 'no more' },
    });
  });

  it('is said once', () => {
    expect(of({ reply, explanation: 'It was refused: 250 ok' })).toEqual({ explanation: 'It was refused: 250 ok.' });
    expect(of({ failure: 'No such domain', explanation: 'No such domain' })).toEqual({
      explanation: 'No such domain.',
    });
  });

  it('says in words where it ended, for every phase there is, and nothing of what went well', () => {
    for (const phase of SMTP_PHASES) {
      expect(endedWhere({ outcome: 'deferred', phase })).toMatch(/^It ended (?!in the phase).+\.$/);
      expect(endedWhere({ outcome: 'delivered', phase })).toBeUndefined();
    }
    expect(endedWhere({ outcome: 'deferred' })).toBeUndefined();
  });
});

describe('what a server said', () => {
  it('is what it sent, and its codes where that has none', () => {
    const said = ['250-2.6.0 Kept', '250 2.6.0 as 42'];
    expect(replyText({ code: 250, enhancedCode: '2.6.0', lines: said })).toBe(said.join('\n'));
    expect(replyText({ code: 450, enhancedCode: '4.2.1', lines: ['busy'] })).toBe('450 4.2.1\nbusy');
    expect(replyText({ code: 421, lines: [] })).toBe('421');
  });
});

describe('an entry of the audit log', () => {
  it('says who acted: what has a name by it, other keys by what they are', () => {
    const own = { id: '0a', name: 'On call' };
    expect(['system', 'operator', 'operator:0a', 'operator:0b', '0c'].map((actor) => whoActed(actor, own))).toEqual([
      { who: 'The service itself' },
      { who: 'The command line' },
      { who: 'On call (this key)' },
      { who: 'Operator key', id: '0b' },
      { who: 'API key', id: '0c' },
    ]);
  });

  it('tells what it tells besides in words', () => {
    expect(detailsOf({ bounceRate: 0.2, reason: 'bounces', fields: ['name'] })).toEqual([
      ['Bounce rate', '0.2'],
      ['Reason', 'bounces'],
      ['Fields', '["name"]'],
    ]);
    expect(detailsOf({})).toEqual([]);
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

describe('a spike of suppressions', () => {
  it.each([
    [9, 9, false],
    [10, 100, true],
    [10, 500, false],
    [11, 500, true],
    [50, undefined, false],
  ])('%d of %s accepted: %s', (suppressed, accepted, expected) => {
    expect(isSpike(suppressed, accepted)).toBe(expected);
  });
});

describe('what is said of a destination', () => {
  const open: Destination = {
    ...{ key: 'mx1.x.example', mxHosts: [], domains: [], state: 'open', active: 0, rules: [] },
    lastHour: { delivered: 1, deferred: 0, bounced: 0 },
  };
  const rule = (source: 'operator' | 'reply', effect: string, cause: string) => ({ id: '1', source, effect, cause });

  it('names the cause, why, until when, and what to do', () => {
    expect(adviceFor(open).what).toBe('No action is needed.');
    const until = '2026-03-04T12:00:00Z';
    const paused = { ...open, state: 'paused' as const, cause: 'Their maintenance', until };
    const own = adviceFor({ ...paused, rules: [rule('operator', 'paused', 'Their maintenance')] });
    expect(own.why).toMatch(/^An operator has paused it: “Their maintenance”, until .*2026/);
    expect(own.what).toContain('Resume it');
    const met = adviceFor({ ...paused, cause: '554 blocked' });
    expect(met.why).toMatch(/^Attempts keep failing: “554 blocked”/);
    expect(met.what).toContain('block list');
    const slowed = { ...open, state: 'slowed' as const, cause: '421 too many' };
    expect(adviceFor({ ...slowed, rules: [rule('reply', '5 max connections', '421 too many')] }).why).toContain(
      'asked for less',
    );
    expect(adviceFor({ ...slowed, rules: [rule('operator', '5 max connections', '421 too many')] }).why).toContain(
      'An operator has limited it',
    );
    expect(adviceFor({ ...open, state: 'probing' }).why).toContain('A few emails are sent');
  });

  it('tells of a pool whose addresses are refused', () => {
    const address = (state: 'active' | 'suspended', name: string) =>
      ({ address: name, ehlo: 'out.x.example', state, suspensions: [] }) as unknown as EgressPool['addresses'][number];
    const pool = (...addresses: EgressPool['addresses']) => ({ pool: 'p', addresses, organizations: [] });
    expect(adviceForPool(pool()).what).toContain('Give it addresses');
    expect(adviceForPool({ ...pool(address('active', 'default')), pool: 'default' }).why).toContain('system chooses');
    expect(adviceForPool(pool(address('active', '192.0.2.1'))).why).toBe('No receiver refuses them.');
    const some = adviceForPool(pool(address('active', '192.0.2.1'), address('suspended', '192.0.2.2')));
    expect(some.why).toBe('1 address is refused for its reputation: 192.0.2.2.');
    expect(some.what).toContain('other addresses');
    expect(adviceForPool(pool(address('suspended', '192.0.2.2'))).what).toContain('waits');
  });
});
