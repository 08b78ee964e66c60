import fc from 'fast-check';
import {
  AT,
  automated,
  deferred,
  email,
  hardBounce,
  KEY,
  LATER,
  recorded,
} from '../../../../test/factories/email-states';
import { type DeliveryOutcome, isAutomated, type RecordedOutcome } from '../../../delivery/ports/outcome';
import { applyOutcomes } from './apply-outcomes';
import type { EmailChanges, EmailState } from './email-state';

const outcomes: fc.Arbitrary<DeliveryOutcome> = fc.constantFrom<DeliveryOutcome>(
  { kind: 'sending' },
  { kind: 'sent' },
  { kind: 'delivered', smtp: { code: 250, response: '250 OK' } },
  deferred,
  hardBounce,
  { kind: 'bounced', bounceType: 'soft', suppress: false, reason: 'full' },
  { kind: 'failed', reason: 'expired' },
  { kind: 'spam_report' },
  { kind: 'opened' },
  { kind: 'clicked' },
  ...automated(),
  { kind: 'unsubscribed' },
);

/** Carries changes over into the state that the next transaction would load. */
function after(state: EmailState, changes: EmailChanges): EmailState {
  const changed = new Map(changes.recipients.map((entry) => [entry.position, entry]));
  const recipients = state.recipients.map((entry) => changed.get(entry.position) ?? entry);
  return { ...state, status: changes.status, eventSequence: changes.eventSequence, recipients };
}

function play(state: EmailState, list: readonly RecordedOutcome[]) {
  const counters: Record<string, number> = {};
  let [opens, clicks] = [0, 0];
  const suppressed = new Set<string>();
  const events: string[] = [];
  for (const outcome of list) {
    const changes = applyOutcomes(state, [outcome]);
    for (const { counter, by } of changes.deltas) counters[counter] = (counters[counter] ?? 0) + by;
    for (const { email: address, reason } of changes.suppressions) suppressed.add(`${address} ${reason}`);
    events.push(...changes.events.map((event) => event.eventType));
    opens += changes.opens;
    clicks += changes.clicks;
    state = after(state, changes);
  }
  return {
    status: state.status,
    seen: state.recipients.map((entry) => entry.seen),
    counters,
    opens,
    clicks,
    suppressed: [...suppressed].sort(),
    events,
  };
}

describe('applyOutcomes', () => {
  it('leads to the same status, states and counters in any order', () => {
    const history = fc.array(fc.tuple(fc.nat({ max: 2 }), outcomes), { maxLength: 12 });
    const cases = history.chain((list) =>
      fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })),
    );
    fc.assert(
      fc.property(cases, ([list, shuffled]) => {
        const one = play(
          email(3),
          list.map(([position, outcome]) => recorded(position, outcome)),
        );
        const other = play(
          email(3),
          shuffled.map(([position, outcome]) => recorded(position, outcome)),
        );
        expect({ ...other, events: [] }).toEqual({ ...one, events: [] });
      }),
      { numRuns: 500 },
    );
  });

  it('counts nothing twice when an outcome is repeated, deferrals aside', () => {
    const lasting = outcomes.filter(({ kind }) => !['deferred', 'opened', 'clicked'].includes(kind));
    fc.assert(
      fc.property(fc.array(lasting, { minLength: 1, maxLength: 8 }), (list) => {
        const once = list.map((outcome) => recorded(0, outcome));
        expect(play(email(1), [...once, ...once]).counters).toEqual(play(email(1), once).counters);
      }),
    );
  });

  it('gives the same result in one transaction as in several', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat({ max: 2 }), outcomes), { maxLength: 10 }), (list) => {
        const history = list.map(([position, outcome]) => recorded(position, outcome));
        const together = applyOutcomes(email(3), history);
        const apart = play(email(3), history);
        expect(together.events.map((event) => event.eventType)).toEqual(apart.events);
        expect(after(email(3), together).recipients.map((entry) => entry.seen)).toEqual(apart.seen);
        expect(together.status).toBe(apart.status);
      }),
    );
  });

  it('numbers events without a gap', () => {
    const changes = applyOutcomes(email(2), [
      recorded(0, { kind: 'sending' }),
      recorded(1, { kind: 'sending' }),
      recorded(0, { kind: 'delivered' }),
    ]);
    expect(changes.events.map((event) => event.sequence)).toEqual([2, 3, 4, 5]);
    expect(changes.events.map((event) => event.eventType)).toEqual(['sending', 'sending', 'sent', 'delivered']);
    expect(changes.eventSequence).toBe(5);
  });

  it.each([
    [['queued', 'delivered'], [recorded(1, { kind: 'delivered' })], 'delivered'],
    [['queued', 'bounced'], [recorded(1, hardBounce)], 'queued'],
    [['delivered', 'bounced'], [recorded(0, { kind: 'delivered' }), recorded(1, hardBounce)], 'delivered'],
    [['failed', 'bounced'], [recorded(0, { kind: 'failed', reason: 'expired' }), recorded(1, hardBounce)], 'bounced'],
    [['sent', 'bounced'], [recorded(0, { kind: 'sent' }), recorded(1, hardBounce)], 'sent'],
  ])('folds %j', (_states, history, status) => {
    expect(applyOutcomes(email(2), history).status).toBe(status);
  });

  it('lets a bounce outweigh the delivery it follows', () => {
    const delivered = after(email(1), applyOutcomes(email(1), [recorded(0, { kind: 'delivered' })]));
    const changes = applyOutcomes(delivered, [{ ...recorded(0, hardBounce), source: 'dsn' }]);
    expect(changes.status).toBe('bounced');
    expect(changes.events.map((event) => event.eventType)).toEqual(['hard_bounce']);
    expect(changes.suppressions).toEqual([expect.objectContaining({ email: 'r0@x.example', reason: 'hard_bounce' })]);
  });

  it('records a soft bounce once, when the recipient newly ends in it', () => {
    const softBounce: DeliveryOutcome = {
      kind: 'bounced',
      bounceType: 'soft',
      suppress: false,
      reason: 'mailbox-full',
    };
    const changes = applyOutcomes(email(2), [recorded(0, softBounce), recorded(0, softBounce, LATER)]);
    const { organizationId, mode } = KEY;
    expect(changes.softBounces).toEqual([{ organizationId, mode, email: 'r0@x.example', at: AT }]);
    expect(applyOutcomes(after(email(2), changes), [recorded(0, softBounce)]).softBounces).toEqual([]);
  });

  it('shows a permanent bounce after a temporary one as a duplicate, once, and counts one', () => {
    const softBounce = { ...hardBounce, bounceType: 'soft', suppress: false } as const;
    const dsn = (outcome: DeliveryOutcome) => ({ ...recorded(0, outcome), source: 'dsn' as const });
    const soft = applyOutcomes(email(1), [dsn(softBounce)]);
    const hard = applyOutcomes(after(email(1), soft), [dsn(hardBounce), dsn(hardBounce), dsn(softBounce)]);
    expect(hard.events.map(({ eventType, data }) => [eventType, data.duplicate])).toEqual([['hard_bounce', true]]);
    expect(hard.deltas).toEqual([]);
    expect(hard.suppressions).toContainEqual(expect.objectContaining({ reason: 'hard_bounce' }));
    const both = after(after(email(1), soft), hard);
    expect(applyOutcomes(both, [dsn(hardBounce)]).events).toEqual([]);
    expect(applyOutcomes(email(1), [dsn(hardBounce), dsn(softBounce)]).events).toHaveLength(1);
  });

  it('shows a second delivery as a duplicate and counts it once', () => {
    const delivered = after(email(1), applyOutcomes(email(1), [recorded(0, { kind: 'delivered' })]));
    const changes = applyOutcomes(delivered, [recorded(0, { kind: 'delivered' })]);
    expect(changes.events).toEqual([
      expect.objectContaining({ eventType: 'delivered', data: expect.objectContaining({ duplicate: true }) }),
    ]);
    expect(changes.deltas).toEqual([]);
  });

  it('announces a scheduled email as queued when its first attempt begins', () => {
    const changes = applyOutcomes(email(1, 'scheduled'), [recorded(0, { kind: 'sending' })]);
    expect(changes.events.map((event) => event.eventType)).toEqual(['queued', 'sending']);
    expect(changes.status).toBe('sending');
  });

  it('keeps the last response and the number of attempts', () => {
    const smtp = { code: 451, response: '451 4.7.1 Greylisted' };
    const [state] = applyOutcomes(email(1), [{ ...recorded(0, { ...deferred, smtp }), attempt: 3 }]).recipients;
    expect(state).toMatchObject({ status: 'queued', attempts: 3, lastResponse: '451 4.7.1 Greylisted' });
  });

  it('keeps the reply to the attempt that time made the last, and what was said before when there was none', () => {
    const said = { ...deferred, smtp: { code: 451, response: '451 first' } };
    const expired = { kind: 'failed', reason: 'expired' } as const;
    const last = { ...expired, smtp: { code: 451, response: '451 last' } };
    expect(applyOutcomes(email(1), [recorded(0, said), recorded(0, last)]).recipients[0]?.lastResponse).toBe(
      '451 last',
    );
    expect(applyOutcomes(email(1), [recorded(0, said), recorded(0, expired)]).recipients[0]?.lastResponse).toBe(
      '451 first',
    );
  });

  it('ignores an outcome of an unknown position', () => {
    expect(applyOutcomes(email(1), [recorded(7, hardBounce)])).toMatchObject({ events: [], recipients: [] });
  });

  it('counts nothing that was automated, whatever it stands among', () => {
    const history = fc.array(fc.tuple(fc.nat({ max: 2 }), outcomes), { maxLength: 12 });
    fc.assert(
      fc.property(history, (list) => {
        const all = list.map(([position, outcome]) => recorded(position, outcome));
        const byHand = all.filter(({ outcome }) => !isAutomated(outcome));
        expect({ ...play(email(3), all), events: [] }).toEqual({ ...play(email(3), byHand), events: [] });
        expect(play(email(3), all).events).toHaveLength(
          play(email(3), byHand).events.length + all.length - byHand.length,
        );
      }),
    );
  });

  it('says of an event that it was automated', () => {
    const [outcome] = automated() as [DeliveryOutcome];
    const [event] = applyOutcomes(email(1), [recorded(0, { ...outcome, data: { ip: '203.0.113.0' } } as never)]).events;
    expect(event?.data).toEqual({ recipient: 'r0@x.example', attempt: 1, ip: '203.0.113.0', automated: true });
  });

  it('bounds the events of an email, but leaves out nothing that counts', () => {
    const all: DeliveryOutcome[] = [{ kind: 'opened' }, { kind: 'clicked' }, ...automated()];
    const flood = Array.from({ length: 5_000 }, (_, index) => recorded(0, all[index % 4] as DeliveryOutcome));
    const state = after(email(2), applyOutcomes(email(2), flood));
    expect(state.eventSequence).toBe(1_000);
    const changes = applyOutcomes(state, [...flood, ...flood.map((entry) => ({ ...entry, position: 1 }))]);
    expect(changes.events.map((event) => event.eventType)).toEqual(['opened', 'clicked']);
    expect(changes.deltas.map((delta) => delta.counter)).toEqual(['opens', 'clicks']);
    expect(changes).toMatchObject({ opens: 1, clicks: 1 });
    expect(applyOutcomes(state, [recorded(1, { kind: 'spam_report' })]).events).toHaveLength(1);
    // A second delivery is a duplicate, and is recorded however much has been opened.
    const delivered = after(state, applyOutcomes(state, [recorded(1, { kind: 'delivered' })]));
    expect(applyOutcomes(delivered, [recorded(1, { kind: 'delivered' })]).events).toHaveLength(1);
  });
});
