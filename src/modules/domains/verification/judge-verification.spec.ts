import type { WantedRecord } from '../dns-record';
import { judgeVerification } from './judge-verification';

const WANTED: WantedRecord = {
  purpose: 'verification',
  type: 'TXT',
  host: '_waybill.example.com',
  value: 'waybill-verification=abc',
  ttlSeconds: 300,
};

const judge = (...records: string[]) => judgeVerification(WANTED, { kind: 'found', records });

describe('the ownership record', () => {
  it('is verified by the wanted value, whatever stands beside it', () => {
    expect(judge('waybill-verification=abc')).toEqual({ result: 'verified' });
    expect(judge('other', ' waybill-verification=abc ', 'third')).toEqual({ result: 'verified' });
  });

  it('is wrong with another value', () => {
    expect(judge('waybill-verification=abcd', 'x')).toEqual({
      result: 'wrong',
      problem: 'The TXT record at _waybill.example.com is another one; it must be waybill-verification=abc',
    });
  });

  it('is wrong with quotation marks in its text, and says so', () => {
    expect(judge('"waybill-verification=abc"')).toMatchObject({
      result: 'wrong',
      problem: expect.stringContaining('quotation'),
    });
  });

  it.each(['no-data', 'no-domain'] as const)('is missing after %s', (kind) => {
    expect(judgeVerification(WANTED, { kind })).toEqual({
      result: 'missing',
      problem: 'There is no TXT record at _waybill.example.com',
    });
  });

  it('is unknown while the DNS does not answer', () => {
    expect(judgeVerification(WANTED, { kind: 'temporary', reason: 'ESERVFAIL' })).toEqual({
      result: 'unreachable',
      problem: 'The DNS servers of _waybill.example.com gave no usable answer (ESERVFAIL)',
    });
  });
});
