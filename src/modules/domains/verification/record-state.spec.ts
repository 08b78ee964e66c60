import type { RecordPurpose } from '../registry/wanted-records';
import { nextCheckAt, reportOn, type VerifiedRecord, type Watched } from './record-state';
import { DAY, HOUR, MINUTE } from '../../../common/clock';

const VERIFIED = { domain: 'acme.example', verificationStatus: 'verified' as const };

function checked(purpose: RecordPurpose, host: string, result: VerifiedRecord['check']['result'], verified: boolean) {
  const record = { purpose, type: 'TXT' as const, host, value: 'x', ttlSeconds: 300 };
  const check = result === 'verified' ? { result } : { result, problem: `It is ${result}.` };
  return { record, check, verified };
}

const OWNERSHIP = checked('verification', '_waybill.acme.example', 'verified', true);
const DKIM = checked('dkim', 'wb1._domainkey.acme.example', 'verified', true);

describe('reportOn', () => {
  it('reports what is there', () => {
    expect(reportOn(VERIFIED, [OWNERSHIP, DKIM], 'wb1')).toEqual({
      status: 'verified',
      domainVerified: true,
      dkimVerified: true,
      problems: [],
      records: [
        { record: OWNERSHIP.record, verified: true },
        { record: DKIM.record, verified: true },
      ],
    });
  });

  it('tells each problem, and lets the optional records decide nothing', () => {
    const spf = checked('spf', 'acme.example', 'wrong', false);
    const report = reportOn(VERIFIED, [OWNERSHIP, DKIM, { ...spf, found: ['v=spf1 -all'] }], 'wb1');
    expect(report).toMatchObject({ domainVerified: true, problems: ['spf (TXT acme.example): It is wrong.'] });
    expect(report.records[2]).toEqual({
      ...{ record: spf.record, verified: false, problem: 'It is wrong.', found: ['v=spf1 -all'] },
    });
  });

  it('says that the ownership record is gone while the status still holds', () => {
    const gone = checked('verification', '_waybill.acme.example', 'missing', false);
    expect(reportOn(VERIFIED, [gone, DKIM], 'wb1')).toMatchObject({ status: 'verified', domainVerified: false });
  });

  it('keeps what was known while the DNS does not answer, and tells that it does not', () => {
    const silent = checked('verification', '_waybill.acme.example', 'unreachable', true);
    const report = reportOn(VERIFIED, [silent, DKIM], 'wb1');
    expect(report).toMatchObject({ domainVerified: true, problems: [expect.stringContaining('It is unreachable.')] });
  });

  it('does not call a domain verified that another organization has', () => {
    const pending = { ...VERIFIED, verificationStatus: 'pending' as const };
    expect(reportOn(pending, [OWNERSHIP, DKIM], 'wb1')).toMatchObject({ status: 'pending', domainVerified: false });
  });

  it.each([['wb2'], [undefined]])('looks at the key that signs, here %s, and at no other', (selector) => {
    expect(reportOn(VERIFIED, [OWNERSHIP, DKIM], selector).dkimVerified).toBe(false);
  });
});

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
