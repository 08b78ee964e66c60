import { judgeDmarc } from './judge-dmarc';

const HOST = '_dmarc.example.com';
const judge = (...records: string[]) => judgeDmarc(HOST, { kind: 'found', records });

describe('a DMARC record', () => {
  it.each([
    'v=DMARC1; p=none',
    'v=DMARC1;p=reject;sp=none;rua=mailto:a@b.example',
    'v = DMARC1 ; adkim=s ; p = Quarantine ;',
  ])('is verified when it is valid: %s', (text) => {
    expect(judge(text)).toEqual({ result: 'verified' });
    expect(judge('v=spf1 -all', text)).toEqual({ result: 'verified' });
  });

  it.each([
    ['v=DMARC1', 'has no p= tag'],
    ['v=DMARC1; rua=mailto:a@b.example', 'has no p= tag'],
    ['v=DMARC1; p=never', 'must have p=none, p=quarantine or p=reject'],
    ['v=dmarc1; p=none', 'must begin with v=DMARC1'],
    ['v=DMARC1; p=none; p=reject', 'is not a list of tags like "v=DMARC1; p=none"'],
    ['v=DMARC1; none', 'is not a list of tags like "v=DMARC1; p=none"'],
  ])('is wrong: %s', (text, problem) => {
    expect(judge(text)).toEqual({ result: 'wrong', problem: `The DMARC record at ${HOST} ${problem}` });
  });

  it('is wrong when there is more than one', () => {
    expect(judge('v=DMARC1; p=none', 'v=DMARC1; p=reject')).toMatchObject({ result: 'wrong' });
  });

  it('is not there among other texts, nor where there are none', () => {
    expect(judge('p=none', 'v=DMARC10; p=none')).toBeUndefined();
    expect(judgeDmarc(HOST, { kind: 'no-domain' })).toBeUndefined();
    expect(judgeDmarc(HOST, { kind: 'no-data' })).toBeUndefined();
  });

  it('is unknown while the DNS does not answer', () => {
    expect(judgeDmarc(HOST, { kind: 'temporary', reason: 'EREFUSED' })).toMatchObject({ result: 'unreachable' });
  });
});
