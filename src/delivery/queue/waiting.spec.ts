import { SENDING_PAUSED } from '../ports/sources';
import { type LastDeferral, WAITING_REASONS, waitingOf, wordsOf } from './waiting';

const firstDueAt = new Date('2026-03-01T06:00:00Z');
const endsAt = new Date('2026-03-05T06:00:00Z');
const dueAt = new Date('2026-03-01T12:00:00Z');
const times = { dueAt, firstDueAt, expiresAt: null };

describe('waitingOf', () => {
  it.each<[string, Parameters<typeof waitingOf>[0], LastDeferral | undefined, string]>([
    ['scheduled', { state: 'waiting', attempts: 0, ...times }, undefined, 'It waits for its time'],
    [
      'retry',
      { state: 'waiting', attempts: 2, ...times },
      { reason: 'greylisted', action: 'retry' },
      'attempt 3; the server puts off what it sees for the first time',
    ],
    [
      'destination_slowed',
      { state: 'waiting', attempts: 1, ...times },
      { reason: 'rate-limited', action: 'slow' },
      'takes less',
    ],
    [
      'destination_paused',
      { state: 'waiting', attempts: 1, ...times },
      { action: 'suspend', response: '554 listed' },
      '554 listed',
    ],
    ['domain_paused', { state: 'waiting', attempts: 0, ...times }, { reason: SENDING_PAUSED }, 'paused'],
    ['turn', { state: 'ready', attempts: 1, ...times }, { reason: 'greylisted' }, 'its turn'],
    ['held', { state: 'held', attempts: 1, ...times }, undefined, 'operator'],
    ['held', { state: 'held', attempts: 1, ...times, heldReason: 'fraud?' }, undefined, 'put it aside: fraud?'],
    ['sending', { state: 'claimed', attempts: 1, ...times }, undefined, 'A worker has it'],
  ])('says %s', (reason, facts, last, detail) => {
    expect(waitingOf(facts, last)).toEqual({
      ...{ reason, detail: expect.stringContaining(detail), endsAt },
      ...(facts.state === 'waiting' && { until: dueAt }),
    });
    expect(WAITING_REASONS).toContain(reason);
  });

  it.each<[LastDeferral, string]>([
    [{ reason: 'temporary', response: '451 busy', isReply: true }, 'the server replied: 451 busy'],
    [{ reason: 'mailbox-full', response: '452 full', isReply: true }, "the recipient's mailbox is full: 452 full"],
    [
      { reason: 'closed', response: 'The server closed the connection', isReply: false },
      'the last one failed: the server closed the connection',
    ],
    [
      { reason: 'protocol', response: '250 ok', isReply: true, explanation: 'The server replied 250 to DATA' },
      'the server replied 250 to DATA',
    ],
    [{ reason: 'internal', explanation: 'STARTTLS failed here' }, 'STARTTLS failed here'],
    [
      { reason: 'outcome_unknown', response: 'The server closed the connection' },
      'whether the last one delivered it is not known',
    ],
    [{ reason: 'temporary' }, 'the last one was deferred'],
    [{}, 'the last one was deferred'],
  ])('says how the last attempt ended without a code word: %j', (last, cause) => {
    const { detail } = waitingOf({ state: 'waiting', attempts: 1, ...times }, last);
    expect(detail).toBe(`It waits for attempt 2; ${cause}`);
  });

  it.each(['waiting', 'ready', 'claimed', 'held'] as const)(
    'ends what is %s by the limit that comes first',
    (state) => {
      const limit = { state, attempts: 0, ...times };
      expect(waitingOf({ ...limit, expiresAt: dueAt }).endsAt).toEqual(dueAt);
      expect(waitingOf({ ...limit, expiresAt: new Date(endsAt.getTime() + 1) }).endsAt).toEqual(endsAt);
    },
  );
});

describe('what all workers hold back', () => {
  const until = new Date(dueAt.getTime() + 60_000);
  const early = new Date(dueAt.getTime() - 60_000);
  const ready = { state: 'ready', attempts: 0, ...times } as const;
  const retry = { state: 'waiting', attempts: 1, ...times } as const;

  it('says why mail that is due does not leave', () => {
    expect(waitingOf(ready, undefined, { state: 'paused', until, cause: 'their maintenance' })).toEqual({
      ...{ reason: 'destination_paused', until, endsAt },
      detail: 'The destination gets no mail for now: their maintenance',
    });
    expect(waitingOf(ready, undefined, { state: 'slowed' })).toEqual({
      ...{ reason: 'destination_slowed', detail: 'The destination gets less mail for now', endsAt },
    });
    expect(waitingOf(ready, undefined, { state: 'probing' })).toMatchObject({ reason: 'destination_slowed' });
  });

  it.each([
    [until, until],
    [early, dueAt],
    [undefined, dueAt],
  ])('puts a retry off while it is paused until %s', (end, expected) => {
    const held = { state: 'paused', ...(end && { until: end }) } as const;
    expect(waitingOf(retry, { reason: 'greylisted' }, held)).toMatchObject({
      ...{ reason: 'destination_paused', until: expected },
    });
  });

  it('does not stand for what the mail waits for anyway', () => {
    const held = { state: 'paused', until } as const;
    const reasons = [
      waitingOf({ ...retry, attempts: 0 }, undefined, held),
      waitingOf(retry, { reason: SENDING_PAUSED }, held),
      waitingOf({ ...retry, state: 'held' }, undefined, held),
      waitingOf({ ...retry, state: 'claimed' }, undefined, held),
      waitingOf(retry, { reason: 'greylisted' }, { state: 'slowed' }),
    ].map(({ reason }) => reason);
    expect(reasons).toEqual(['scheduled', 'domain_paused', 'held', 'sending', 'retry']);
  });
});

describe('what the last attempt says of its destination', () => {
  it('is the reply, or the words for one that would mislead', () => {
    expect(wordsOf({ response: '451 busy' })).toBe('451 busy');
    expect(wordsOf({ response: '250 ok', explanation: 'The server replied 250' })).toBe('the server replied 250');
    expect(wordsOf({})).toBeUndefined();
  });
});
