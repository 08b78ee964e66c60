import { SENDING_PAUSED } from '../ports/sender-sources';
import { type LastDeferral, WAITING_REASONS, waitingOf } from './waiting';

const dueAt = new Date('2026-03-01T12:00:00Z');

describe('waitingOf', () => {
  it.each<[string, Parameters<typeof waitingOf>[0], LastDeferral | undefined, string]>([
    ['scheduled', { state: 'waiting', attempts: 0, dueAt }, undefined, 'It waits for its time'],
    [
      'retry',
      { state: 'waiting', attempts: 2, dueAt },
      { reason: 'greylisted', action: 'retry' },
      'attempt 3, after greylisted',
    ],
    [
      'destination_slowed',
      { state: 'waiting', attempts: 1, dueAt },
      { reason: 'rate-limited', action: 'slow' },
      'takes less',
    ],
    [
      'destination_paused',
      { state: 'waiting', attempts: 1, dueAt },
      { action: 'suspend', response: '554 listed' },
      '554 listed',
    ],
    ['domain_paused', { state: 'waiting', attempts: 0, dueAt }, { reason: SENDING_PAUSED }, 'paused'],
    ['turn', { state: 'ready', attempts: 1, dueAt }, { reason: 'greylisted' }, 'its turn'],
    ['held', { state: 'held', attempts: 1, dueAt }, undefined, 'operator'],
    ['sending', { state: 'claimed', attempts: 1, dueAt }, undefined, 'A worker has it'],
  ])('says %s', (reason, facts, last, detail) => {
    expect(waitingOf(facts, last)).toEqual({
      ...{ reason, detail: expect.stringContaining(detail) },
      ...(facts.state === 'waiting' && { until: dueAt }),
    });
    expect(WAITING_REASONS).toContain(reason);
  });
});

describe('what all workers hold back', () => {
  const until = new Date(dueAt.getTime() + 60_000);
  const early = new Date(dueAt.getTime() - 60_000);
  const ready = { state: 'ready', attempts: 0, dueAt } as const;
  const retry = { state: 'waiting', attempts: 1, dueAt } as const;

  it('says why mail that is due does not leave', () => {
    expect(waitingOf(ready, undefined, { state: 'paused', until, cause: 'their maintenance' })).toEqual({
      ...{ reason: 'destination_paused', until },
      detail: 'The destination gets no mail for now: their maintenance',
    });
    expect(waitingOf(ready, undefined, { state: 'slowed' })).toEqual({
      ...{ reason: 'destination_slowed', detail: 'The destination gets less mail for now' },
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
