import { type DmarcTotals, recommend } from './aggregate-report';

const totals = (fields: Partial<DmarcTotals>): DmarcTotals => ({
  ...{ reports: 20, reporters: 3, policy: 'none', days: 20, messages: 1_000, passed: 1_000 },
  ...fields,
});

describe('the recommendation', () => {
  it.each([
    ['raise_to_quarantine', {}],
    ['raise_to_quarantine', { passed: 980 }],
    ['find_sources', { passed: 979 }],
    ['raise_to_reject', { policy: 'quarantine' as const }],
    ['find_sources', { policy: 'quarantine' as const, passed: 0 }],
    ['keep', { policy: 'reject' as const, passed: 0 }],
    ['wait', { days: 13.9 }],
    ['wait', { messages: 99, passed: 99 }],
    ['wait', { policy: undefined }],
  ])('is %s with %j', (code, fields) => {
    expect(recommend(totals(fields)).code).toBe(code);
  });

  it('says why', () => {
    expect(recommend(totals({ passed: 990 })).message).toBe(
      '99.0 % of 1000 messages pass: the policy can be raised from p=none to p=quarantine',
    );
  });
});
