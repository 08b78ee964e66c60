import {
  AT,
  automated,
  deferred,
  email,
  hardBounce,
  KEY,
  LATER,
  recipient,
  recorded,
} from '../../../../test/factories/email-states';
import type { DeliveryOutcome, RecordedOutcome } from '../../../delivery/ports/outcome';
import { isCountedByProvider } from '../../stats/stats.service';
import { applyOutcomes } from './apply-outcomes';
import type { EmailChanges } from './email-state';

describe('applyOutcomes notes of each outcome', () => {
  const EARLIER = new Date('2026-11-20T09:00:00Z');
  const NONE = { sentAt: null, deliveredAt: null, bouncedAt: null, failedAt: null };
  const changesBy = (...list: RecordedOutcome[]) => applyOutcomes(email(1), list);
  const countersOf = ({ deltas }: EmailChanges) => deltas.map(({ counter }) => counter);

  it.each<[DeliveryOutcome, string[], object]>([
    [{ kind: 'sending' }, [], NONE],
    [{ kind: 'sent' }, ['sent'], { ...NONE, sentAt: AT }],
    [{ kind: 'delivered' }, ['sent', 'delivered'], { ...NONE, sentAt: AT, deliveredAt: AT }],
    [deferred, ['deferred'], NONE],
    [{ ...deferred, kind: 'unknown' }, ['deferred'], NONE],
    [hardBounce, ['bounced'], { ...NONE, bouncedAt: AT }],
    [{ ...hardBounce, countsAgainstSender: false }, ['bounced', 'excused'], { ...NONE, bouncedAt: AT }],
    [{ kind: 'failed', reason: 'expired' }, ['failed'], { ...NONE, failedAt: AT }],
    [{ kind: 'spam_report' }, ['complaints'], NONE],
    [{ kind: 'unsubscribed' }, ['unsubscribes'], NONE],
    [{ kind: 'opened' }, ['opens'], NONE],
    [{ kind: 'clicked' }, ['clicks'], NONE],
    ...automated().map((outcome): [DeliveryOutcome, string[], object] => [outcome, [], NONE]),
  ])('%j: its counters and its time', (outcome, counters, times) => {
    const changes = changesBy(recorded(0, outcome));
    expect(countersOf(changes)).toStrictEqual(counters);
    expect(changes.times).toEqual(times);
    for (const delta of changes.deltas) {
      const { organizationId, mode } = KEY;
      const { counter } = delta;
      const provider = isCountedByProvider(counter) ? { provider: 'other' } : {};
      expect(delta).toEqual({ organizationId, mode, domainId: 'd', occurredAt: AT, counter, by: 1, ...provider });
    }
  });

  it('the earliest time, in whatever order they come', () => {
    const times = [AT, EARLIER, LATER].map((at) => recorded(0, { kind: 'delivered' }, at));
    expect(changesBy(...times).times).toEqual({ ...NONE, sentAt: EARLIER, deliveredAt: EARLIER });
  });

  it('each opening and each click, but their counters once', () => {
    const twice = [{ kind: 'opened' }, { kind: 'clicked' }, { kind: 'opened' }] as DeliveryOutcome[];
    const changes = changesBy(...twice.map((outcome) => recorded(0, outcome)));
    expect(changes).toMatchObject({ opens: 2, clicks: 1 });
    expect(countersOf(changes)).toEqual(['opens', 'clicks']);
  });

  it.each<[DeliveryOutcome, string | null]>([
    [{ kind: 'sent', smtp: { response: 'sent' } }, 'sent'],
    [{ kind: 'delivered', smtp: { response: 'delivered' } }, 'delivered'],
    [{ kind: 'delivered' }, null],
    [{ ...deferred, smtp: { response: 'deferred' } }, 'deferred'],
    [{ ...deferred, kind: 'unknown', smtp: { response: 'unknown' } }, 'unknown'],
    [deferred, 'greylisted'],
    [hardBounce, 'bad-mailbox'],
    [{ ...hardBounce, smtp: { response: 'no' } }, 'no'],
    [{ kind: 'failed', reason: 'expired' }, null],
    [{ kind: 'spam_report' }, null],
  ])('%j: the last response', (outcome, response) => {
    expect(changesBy(recorded(0, outcome)).recipients[0]?.lastResponse).toBe(response);
  });

  it('a response that stays until there is another, and the highest attempt', () => {
    const history = [{ ...recorded(0, deferred), attempt: 4 }, recorded(0, { kind: 'failed', reason: 'expired' })];
    expect(changesBy(...history).recipients).toMatchObject([{ lastResponse: 'greylisted', attempts: 4 }]);
    const withoutAttempt = { ...recorded(0, { kind: 'opened' }), attempt: undefined };
    expect(changesBy(withoutAttempt).recipients).toMatchObject([{ attempts: 0 }]);
  });

  const GOOGLE = 'aspmx.l.google.com';
  const YAHOO = 'mta5.am0.yahoodns.net';

  it.each<[string, DeliveryOutcome, string | undefined, string]>([
    ['the server that the attempt spoke to', { kind: 'delivered', smtp: { mxHost: GOOGLE } }, undefined, 'google'],
    ['an attempt without a server', { ...hardBounce, smtp: undefined }, undefined, 'other'],
    [
      'the server that had taken the mail, not the one in a report',
      { ...hardBounce, smtp: { mxHost: GOOGLE } },
      YAHOO,
      'yahoo',
    ],
    ['the server that had taken the mail of a complaint', { kind: 'spam_report' }, YAHOO, 'yahoo'],
  ])('whose receiver it was: %s', (_name, outcome, deliveredTo, provider) => {
    const state = { ...email(1), recipients: [{ ...recipient(0), ...(deliveredTo && { deliveredTo }) }] };
    const { deltas } = applyOutcomes(state, [recorded(0, outcome)]);
    expect(new Set(deltas.map((delta) => delta.provider))).toEqual(new Set([provider]));
  });

  it('domains that are missing, and whom to suppress', () => {
    const owner = { organizationId: 'o', mode: 'live', email: 'r0@x.example' };
    const missing = { kind: 'bounced', bounceType: 'hard', suppress: false, reason: 'r', isDomainMissing: true };
    const changes = changesBy(recorded(0, missing as DeliveryOutcome), recorded(0, { kind: 'unsubscribed' }));
    expect(changes.missingDomains).toEqual([owner]);
    expect(changes.suppressions).toEqual([{ ...owner, reason: 'unsubscribe' }]);
    expect(changesBy(recorded(0, deferred))).toMatchObject({ missingDomains: [], suppressions: [], softBounces: [] });
  });

  it('events with their email and time, the trace of an attempt at the last of them', () => {
    const trace = { startedAt: AT, durationMs: 7 } as NonNullable<RecordedOutcome['trace']>;
    const { events } = changesBy({ ...recorded(0, { kind: 'delivered' }), trace });
    expect(events).toMatchObject([
      { ...KEY, sequence: 2, eventType: 'sent', occurredAt: AT },
      { ...KEY, sequence: 3, eventType: 'delivered', occurredAt: AT, trace: { at: AT.getTime(), ms: 7 } },
    ]);
    expect(events[0]?.trace).toBeUndefined();
    expect(changesBy({ ...recorded(0, deferred), trace }).events).toMatchObject([{ trace: { ms: 7 } }]);
    expect(changesBy(recorded(0, { kind: 'sent' })).events[0]?.trace).toBeUndefined();
  });

  it('nothing personal of a recipient that has been erased', () => {
    const state = { ...email(1), recipients: [{ ...recipient(0), address: 'erased-0@erased.invalid' }] };
    const missing = { ...hardBounce, isDomainMissing: true } as DeliveryOutcome;
    const changes = applyOutcomes(state, [recorded(0, missing), recorded(0, { kind: 'spam_report' })]);
    expect(changes).toMatchObject({ suppressions: [], missingDomains: [], softBounces: [] });
    expect(JSON.stringify(changes.events)).not.toContain('r0@x.example');
    expect(countersOf(changes)).toEqual(['bounced', 'complaints']);
  });

  it('only recipients that it changes', () => {
    const changes = applyOutcomes(email(3), [recorded(1, { kind: 'sent' })]);
    expect(changes.recipients.map(({ position }) => position)).toEqual([1]);
    expect(changes).toMatchObject(KEY);
  });

  it('a scheduled email as queued once, at an attempt only', () => {
    const typesOf = (...list: DeliveryOutcome[]) =>
      applyOutcomes(
        email(2, 'scheduled'),
        list.map((outcome, index) => recorded(index, outcome)),
      ).events.map(({ eventType, source }) => [eventType, source]);
    expect(typesOf({ kind: 'sending' }, { kind: 'sending' })).toEqual([
      ['queued', 'system'],
      ['sending', 'smtp'],
      ['sending', 'smtp'],
    ]);
    expect(typesOf({ kind: 'failed', reason: 'expired' })).toEqual([['failed', 'smtp']]);
    expect(applyOutcomes(email(1, 'scheduled'), [recorded(0, deferred)]).status).toBe('scheduled');
    expect(applyOutcomes(email(2), [recorded(0, { kind: 'sending' })]).events).toHaveLength(1);
  });
});
