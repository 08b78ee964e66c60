import * as fc from 'fast-check';
import { isReportMail, readReportTargets } from './tls-report-data.service';

const told = (text: string) => {
  const targets = readReportTargets(['v=spf1 -all', text]);
  return targets && [...targets.mail, ...targets.web.map(String)];
};

describe('where a domain wants reports on TLS', () => {
  it.each([
    ['v=TLSRPTv1;rua=mailto:reports@example.com', ['reports@example.com']],
    ['v=TLSRPTv1; rua=https://reporting.example.com/v1/tlsrpt;', ['https://reporting.example.com/v1/tlsrpt']],
    ['v=TLSRPTv1; rua=mailto:a@example.com , https://b.example/', ['a@example.com', 'https://b.example/']],
    ['v=TLSRPTv1; rua=mailto:a%2Bb@example.com?subject=x', ['a+b@example.com']],
    [
      'v=TLSRPTv1; rua=mailto:a@x.example,mailto:b@x.example,mailto:c@x.example,mailto:d@x.example',
      ['a@x.example', 'b@x.example', 'c@x.example'],
    ],
    ['v=TLSRPTv1; rua=http://b.example/', undefined],
    ['v=TLSRPTv1; rua=https://user:password@b.example/', undefined],
    ['v=TLSRPTv1; rua=mailto:%0d%0aRCPT@x.example', undefined],
    ['v=TLSRPTv1; rua=mailto:%zz', undefined],
    ['v=TLSRPTv1; rua=', undefined],
    ['v=TLSRPTv1', undefined],
    ['v=TLSRPTv2; rua=mailto:a@x.example', undefined],
  ])('%s', (text, expected) => {
    expect(told(text)).toEqual(expected);
  });

  it('counts only when there is one record', () => {
    const record = 'v=TLSRPTv1; rua=mailto:a@x.example';
    expect([readReportTargets([]), readReportTargets([record, record])]).toEqual([undefined, undefined]);
  });

  it('is addresses and URLs, whatever it says', () => {
    fc.assert(
      fc.property(fc.string(), (rest) => {
        const targets = readReportTargets([`v=TLSRPTv1; rua=mailto:${rest}`]);
        expect((targets?.mail ?? []).every((address) => /^[^\s@]+@[^\s@]+$/.test(address))).toBe(true);
      }),
    );
  });
});

describe('a mail that is a report of ours', () => {
  const report = { isRaw: true, tag: 'tls-report', from: { email: 'Postmaster@example.com' } };
  it.each([
    [report, 'postmaster@Example.com', true],
    [report, undefined, false],
    [report, 'other@example.com', false],
    [{ ...report, tag: undefined }, 'postmaster@example.com', false],
    [{ ...report, isRaw: false }, 'postmaster@example.com', false],
  ])('%j, contact %s: %s', (message, contact, expected) => {
    expect(isReportMail(message, contact)).toBe(expected);
  });
});
