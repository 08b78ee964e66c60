import { claimOf } from '../../../../test/setup/recipient-copies';
import { UnavailableError } from '../../../common/errors/app-error';
import type { HeldBack } from '../../shaping/held-destinations.service';
import type { ClaimedDelivery } from '../../ports/delivery';
import { MessagePreparer } from './message-preparer';
import { obstacleOf } from './unattempted-endings';

const since = new Date('2026-03-01T12:00:00.123Z');
const untouched = { heldAt: null, heldReason: null };
const claim = (state: 'waiting' | 'ready' | 'held' | undefined, more = {}) => ({
  destination: 'x.example',
  crashes: 0,
  ...(state && { overdue: { state, ...untouched, ...more } }),
});
const byOperator = (state: HeldBack['state'], effect: string): HeldBack => ({
  ...{ state, cause: 'their maintenance', operator: { since, effect } },
});

describe('obstacleOf', () => {
  it.each([
    [{ heldAt: since, heldReason: 'fraud?' }, 'put it aside since 2026-03-01T12:00:00Z: fraud?'],
    // Held by an older version.
    [{}, 'put it aside'],
  ])('names the operator who has put it aside: %j', (held, words) => {
    expect(obstacleOf(claim('held', held), byOperator('paused', 'paused'))).toBe(
      `the operator of this service had ${words}`,
    );
  });

  it('knows of a hold whose mail a worker took to end it, and died', () => {
    expect(obstacleOf(claim('ready', { heldAt: since }), undefined)).toMatch(/put it aside since/);
  });

  it.each<[HeldBack, RegExp]>([
    [
      byOperator('paused', 'paused'),
      /^the operator of this service had paused mail to x\.example since 2026-03-01T12:00:00Z: their maintenance$/,
    ],
    [
      byOperator('slowed', '5 messages a minute'),
      /^the operator of this service had limited mail to x\.example \(5 messages a minute\) since 2026-03-01T12:00:00Z: their maintenance$/,
    ],
    [{ state: 'paused' }, /^mail to x\.example was paused, as its servers had refused/],
    [{ state: 'probing' }, /^x\.example got one mail at a time, as/],
    [{ state: 'slowed' }, /^x\.example took less mail/],
  ])('names what holds its destination back: %j', (held, words) => {
    for (const state of ['ready', undefined] as const) expect(obstacleOf(claim(state), held)).toMatch(words);
  });

  it('does not disclose the reply that another tenant got', () => {
    for (const state of ['paused', 'probing', 'slowed'] as const) {
      expect(obstacleOf(claim('ready'), { state, cause: '450 <ann@x.example> later' })).not.toContain('ann');
    }
  });

  it('leaves what waits for another attempt to its last result, unless its destination is paused', () => {
    expect(obstacleOf(claim('waiting'), byOperator('paused', 'paused'))).toMatch(/paused mail/);
    expect(obstacleOf(claim('waiting'), byOperator('slowed', '2 max connections'))).toBeUndefined();
    expect(obstacleOf(claim('waiting'), undefined)).toBeUndefined();
  });

  it('names a turn that did not come, and a suspicion', () => {
    expect(obstacleOf(claim('ready'), undefined)).toBe('it was due, and its turn had not come');
    expect(obstacleOf({ ...claim('waiting'), crashes: 2 }, undefined)).toMatch(/^workers had died/);
    expect(obstacleOf(claim(undefined), undefined)).toBeUndefined();
  });
});

describe('MessagePreparer', () => {
  it('lets go of what it has composed when the database goes away before all of a batch is prepared', async () => {
    const claims = ['a', 'b', 'c'].map((organizationId) => claimOf(0, { organizationId, emailId: organizationId }));
    const inMemory = new Set<string>();
    const load = (emails: readonly { emailId: string }[]) => {
      if (emails.length > 1) throw new Error('A secret that no key decrypts');
      if (emails.some(({ emailId }) => emailId === 'c')) throw new UnavailableError();
      return Promise.resolve(new Map(emails.map(({ emailId }) => [emailId, { emailId }])));
    };
    const composer = {
      prepare: ({ claim: { emailId } }: { claim: ClaimedDelivery }) => {
        inMemory.add(emailId);
        return { drop: () => inMemory.delete(emailId) };
      },
    };
    const preparer = new MessagePreparer(
      ...([
        { load, findBlocked: () => Promise.resolve(new Map()) },
        { keysFor: (domains: ClaimedDelivery[]) => Promise.resolve(new Map(domains.map((one) => [one.domainId, {}]))) },
        { ordinalsOf: (ids: string[]) => Promise.resolve(new Map(ids.map((id) => [id, 1]))) },
        composer,
        { aheadRoom: 1_000 },
        { ofOver: () => Promise.resolve(new Map()) },
      ] as unknown as ConstructorParameters<typeof MessagePreparer>),
    );
    expect([...(await preparer.prepare(claims.slice(0, 2))).values()].map(({ kind }) => kind)).toEqual([
      'message',
      'message',
    ]);
    expect(inMemory.size).toBe(2);
    inMemory.clear();
    await expect(preparer.prepare(claims)).rejects.toThrow(UnavailableError);
    expect(inMemory.size).toBe(0);
  });
});
