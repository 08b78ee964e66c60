import { evaluateDmarc } from './check-records';

const HOST = '_dmarc.example.com';
const evaluate = (...records: string[]) => evaluateDmarc(HOST, { kind: 'found', records });

describe('a DMARC record', () => {
  it.each([
    'v=DMARC1; p=none',
    'v=DMARC1;p=reject;sp=none;rua=mailto:a@b.example',
    'v = DMARC1 ; adkim=s ; p = Quarantine ;',
  ])('is verified when it is valid: %s', (text) => {
    expect(evaluate(text)).toEqual({ result: 'verified' });
    expect(evaluate('v=spf1 -all', text)).toEqual({ result: 'verified' });
  });

  it.each([
    ['v=DMARC1', 'has no p= tag'],
    ['v=DMARC1; rua=mailto:a@b.example', 'has no p= tag'],
    ['v=DMARC1; p=never', 'must have p=none, p=quarantine or p=reject'],
    ['v=dmarc1; p=none', 'must begin with v=DMARC1'],
    ['v=DMARC1; p=none; p=reject', 'is not a list of tags like "v=DMARC1; p=none"'],
    ['v=DMARC1; none', 'is not a list of tags like "v=DMARC1; p=none"'],
  ])('is wrong: %s', (text, problem) => {
    expect(evaluate(text)).toEqual({ result: 'wrong', problem: `The DMARC record at ${HOST} ${problem}` });
  });

  it('is wrong when there is more than one', () => {
    expect(evaluate('v=DMARC1; p=none', 'v=DMARC1; p=reject')).toMatchObject({ result: 'wrong' });
  });

  it('is not there among other texts, nor where there are none', () => {
    expect(evaluate('p=none', 'v=DMARC10; p=none')).toBeUndefined();
    expect(evaluateDmarc(HOST, { kind: 'no-domain' })).toBeUndefined();
    expect(evaluateDmarc(HOST, { kind: 'no-data' })).toBeUndefined();
  });

  it('is unknown while the DNS does not answer', () => {
    expect(evaluateDmarc(HOST, { kind: 'temporary', reason: 'EREFUSED' })).toMatchObject({ result: 'unreachable' });
  });
});
