import type { RecordPurpose } from '../registry/wanted-records';
import { reportOn, type VerifiedRecord } from './record-state';

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
