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
