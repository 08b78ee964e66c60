import fc from 'fast-check';
import { type CompactEvent, compactEvents, expandEvents, idsOf, plainEvents, readPhase } from './event-rows';

const AT = Date.UTC(2026, 10, 25, 12);
/** Of two events that share it. */
const DATA = { recipient: 'ann@x.example', attempt: 1 };
const ID = '019abc00-0000-7000-8000-00000000a001';

type Plain = Omit<CompactEvent, 'id' | 'sendingMs' | 'alsoSent'>;

function event(eventType: string, facts: Partial<Plain> = {}): Plain {
  const source = eventType === 'sending' ? 'worker' : 'smtp';
  return { sequence: 2, eventType, source, occurredAt: new Date(AT), data: { recipient: 'ann@x.example' }, ...facts };
}

/** As the database does: an id for each row, the later the greater, with room before it. */
function stored<E extends Plain>(events: readonly E[]) {
  return compactEvents(events).map((row, at) => ({
    ...row,
    id: ID.replace('a001', `b${(at * 16).toString(16).padStart(3, '0')}`),
  }));
}

/** The events of one recipient's only attempt. */
function attempt(...types: string[]): Plain[] {
  const data = { recipient: 'ann@x.example', attempt: 1, response: '250 Ok' };
  return types.map((type, at) => {
    const isStart = type === 'sending';
    const occurredAt = new Date(isStart ? AT - 1_234 : AT);
    return event(type, { sequence: 2 + at, occurredAt, ...(!isStart && { data }) });
  });
}

describe('compactEvents', () => {
  it.each([
    ['handed to a relay', ['sending', 'sent']],
    ['delivered', ['sending', 'sent', 'delivered']],
    ['deferred', ['sending', 'deferred']],
    ['bounced', ['sending', 'bounced']],
    ['delivered later', ['sent', 'delivered']],
  ])('makes one row for a mail that is %s at its first attempt', (_case, types) => {
    const rows = stored(attempt(...types));
    expect(rows.map(({ eventType }) => eventType)).toEqual(types.slice(-1));
    expect(expandEvents(rows)).toMatchObject(attempt(...types));
  });

  it.each([
    ['of another recipient', [event('sending', { data: { recipient: 'bob@x.example' } }), event('sent')]],
    ['with further data', [event('sending', { data: { recipient: 'ann@x.example', attempt: 1 } }), event('sent')]],
    ['of no recipient', [event('sending', { data: {} }), event('sent', { data: {} })]],
    ['weeks before', [event('sending', { occurredAt: new Date(0) }), event('sent')]],
    ['with other data', [event('sent', { data: { recipient: 'ann@x.example' } }), event('delivered')]],
    ['at the end', [event('sending')]],
    ['of another kind', [event('failed', { source: 'worker' }), event('sent')]],
    ['of another source', [event('sending', { source: 'smtp' }), event('sent')]],
    ['that is not `sent`', [event('deferred', { data: DATA }), event('delivered', { data: DATA })]],
    ['not followed by `delivered`', [event('sent', { data: DATA }), event('bounced', { data: DATA })]],
    ['from another source', [event('sent', { data: DATA, source: 'dsn' }), event('delivered', { data: DATA })]],
    [
      'of another time',
      [event('sent', { data: DATA, occurredAt: new Date(AT - 1) }), event('delivered', { data: DATA })],
    ],
    ['too long before for the column', [event('sending', { occurredAt: new Date(AT - 2 ** 31) }), event('sent')]],
  ])('keeps an event %s in a row of its own', (_case, events) => {
    expect(stored(events)).toHaveLength(events.length);
  });

  it('makes one row up to the limit of the column', () => {
    const [row] = stored([event('sending', { occurredAt: new Date(AT - 2 ** 31 + 1) }), event('sent')]);
    expect(row).toMatchObject({ eventType: 'sent', sendingMs: 2 ** 31 - 1 });
  });

  it('loses no event and changes none, whatever comes in whatever order', () => {
    const types = fc.constantFrom('queued', 'sending', 'sent', 'delivered', 'deferred', 'bounced', 'opened');
    const recipients = fc.constantFrom('ann@x.example', 'bob@x.example');
    const some = fc.array(fc.record({ type: types, recipient: recipients, ms: fc.nat(5_000), isShared: fc.boolean() }));
    fc.assert(
      fc.property(some, (drawn) => {
        let data: Record<string, unknown> = {};
        const events = drawn.map(({ type, recipient, ms, isShared }, at) => {
          const isAnother = !isShared || data.recipient !== recipient;
          if (isAnother) data = { recipient, ...(type !== 'sending' && { attempt: at }) };
          return event(type, { sequence: at + 1, occurredAt: new Date(AT + ms), data });
        });
        const rows = stored(events);
        const expanded = expandEvents(rows);
        expect(expanded.map(({ id: _id, sendingMs: _ms, alsoSent: _sent, ...facts }) => facts)).toEqual(events);
        const ids = expanded.map(({ id }) => id);
        expect(ids).toEqual([...new Set(ids)].sort());
        expect(rows.flatMap(idsOf)).toEqual(ids);
      }),
    );
  });
});

describe('readPhase', () => {
  it.each([
    ['final-dot', 'final'],
    ['dot', 'final'],
    ['body', 'data'],
    ['banner', 'greeting'],
    ['ehlo', 'greeting'],
    ['helo', 'greeting'],
    ['starttls', 'tls'],
    ['routing', 'dns'],
    ['rcpt', 'rcpt'],
    ['quit', undefined],
    [undefined, undefined],
  ])('reads the stored name %s as %s', (name, phase) => {
    expect(readPhase(name)).toBe(phase);
  });
});

describe('plainEvents', () => {
  it('makes a row for each event', () => {
    const events = attempt('sending', 'sent', 'delivered');
    expect(plainEvents(events)).toEqual(events.map((one) => ({ ...one, sendingMs: null, alsoSent: null })));
  });
});

describe('expandEvents', () => {
  const row = { ...event('delivered', { sequence: 4 }), id: ID, sendingMs: 20, alsoSent: true };

  it('gives the trace of the attempt to its last event only', () => {
    const traced = { ...row, trace: { ms: 1 }, attempt: '[1,2]' };
    expect(expandEvents([traced]).map(({ trace, attempt }) => [trace, attempt])).toEqual([
      [null, null],
      [null, null],
      [{ ms: 1 }, '[1,2]'],
    ]);
  });

  it('makes events of the same columns that stand for themselves alone', () => {
    const expanded = expandEvents([row]);
    for (const one of expanded) expect(Object.keys(one).sort()).toEqual(Object.keys(row).sort());
    expect(expanded.map(({ sendingMs, alsoSent }) => [sendingMs, alsoSent])).toEqual(expanded.map(() => [null, null]));
    expect(expandEvents(expanded)).toEqual(expanded);
  });

  it('has phases under their present names, and leaves other data as it is', () => {
    const [old, other] = ['ehlo', 'quit'].map((phase) => ({ ...row, data: { ...DATA, phase } }));
    const phases = expandEvents([old!, other!]).map(({ eventType, data }) => [eventType, data.phase]);
    expect(phases).toEqual([
      ['sending', undefined],
      ...[
        ['sent', 'greeting'],
        ['delivered', 'greeting'],
      ],
      ['sending', undefined],
      ...[
        ['sent', 'quit'],
        ['delivered', 'quit'],
      ],
    ]);
  });

  it('makes ids that are UUIDs right before the one of the row', () => {
    expect(expandEvents([row]).map(({ id }) => id)).toEqual([
      '019abc00-0000-7000-8000-000000009fff',
      '019abc00-0000-7000-8000-00000000a000',
      ID,
    ]);
  });
});
