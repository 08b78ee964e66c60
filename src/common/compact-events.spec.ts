import fc from 'fast-check';
import { type CompactEvent, compactEvents, expandEvents, idsOf } from './compact-events';

const AT = Date.UTC(2026, 10, 25, 12);
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
  ])('keeps an event %s in a row of its own', (_case, events) => {
    expect(stored(events)).toHaveLength(events.length);
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

describe('expandEvents', () => {
  const row = { ...event('delivered', { sequence: 4 }), id: ID, sendingMs: 20, alsoSent: true };

  it('gives the trace of the attempt to its last event only', () => {
    const traced = { ...row, trace: null, attempt: '[1,2]' };
    expect(expandEvents([traced]).map(({ attempt }) => attempt)).toEqual([null, null, '[1,2]']);
  });

  it('makes ids that are UUIDs right before the one of the row', () => {
    expect(expandEvents([row]).map(({ id }) => id)).toEqual([
      '019abc00-0000-7000-8000-000000009fff',
      '019abc00-0000-7000-8000-00000000a000',
      ID,
    ]);
  });
});
