import { DAY, HOUR, MINUTE } from '../../../common/clock';
import { nextCheckAt, type Watched } from './next-check-at';

const NOW = new Date('2026-01-05T12:00:00.000Z');
const ago = (ms: number) => new Date(NOW.getTime() - ms);

const SETTLED: Watched['domain'] = { verificationStatus: 'verified', dkimStatus: 'verified', createdAt: ago(30 * DAY) };
const SEEN = { result: 'verified', verified: true, failingSince: null } as const;

function inMs(watched: Partial<Watched>, random = 0.5): number {
  return nextCheckAt({ domain: SETTLED, keys: [], states: [SEEN], ...watched }, NOW, random).getTime() - NOW.getTime();
}

describe('the next check', () => {
  const pending = (age: number) => ({
    domain: { ...SETTLED, verificationStatus: 'pending', createdAt: ago(age) } as const,
  });

  it('of a pending domain comes after five minutes, and after three days every day', () => {
    expect(inMs(pending(0))).toBe(5 * MINUTE);
    expect(inMs(pending(3 * DAY - 1))).toBe(5 * MINUTE);
    expect(inMs(pending(3 * DAY))).toBe(DAY);
  });

  it('comes as soon while only the key record is awaited', () => {
    const domain = { ...SETTLED, dkimStatus: 'pending', createdAt: ago(HOUR) } as const;
    expect(inMs({ domain })).toBe(5 * MINUTE);
  });

  it('of a domain whose key is being rotated comes after five minutes, for three days', () => {
    expect(inMs({ keys: [{ state: 'pending', createdAt: ago(HOUR) }] })).toBe(5 * MINUTE);
    expect(inMs({ keys: [{ state: 'pending', createdAt: ago(3 * DAY) }] })).toBe(DAY);
    expect(inMs({ keys: [{ state: 'retiring', createdAt: ago(HOUR) }] })).toBe(DAY);
  });

  it('of a verified domain comes every day', () => {
    expect(inMs({})).toBe(DAY);
  });

  it.each([
    ['a record is gone', { states: [SEEN, { result: 'missing', verified: false, failingSince: ago(HOUR) }] }],
    ['a record cannot be looked at', { states: [SEEN, { result: 'unreachable', verified: true, failingSince: null }] }],
    ['DKIM has failed', { domain: { ...SETTLED, dkimStatus: 'failed' } }],
  ] as [string, Partial<Watched>][])('comes every hour while %s', (_what, watched) => {
    expect(inMs(watched)).toBe(HOUR);
  });

  it('does not hurry for records that never were there', () => {
    const never = [{ result: 'missing', verified: false, failingSince: null }, { result: 'unreachable', verified: false, failingSince: null }] as const; // prettier-ignore
    expect(inMs({ states: never })).toBe(DAY);
  });

  it('of a failed domain comes every day', () => {
    expect(inMs({ domain: { ...SETTLED, verificationStatus: 'failed', dkimStatus: 'failed' } })).toBe(DAY);
  });

  it('is spread by a tenth either way', () => {
    expect(inMs({}, 0)).toBeCloseTo(0.9 * DAY);
    expect(inMs({}, 1)).toBeCloseTo(1.1 * DAY);
  });
});
