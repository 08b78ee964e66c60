import fc from 'fast-check';
import { evaluateDkim } from './check-dkim';

const HOST = 'wb1._domainkey.example.com';
const KEY = 'MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A';

const evaluate = (...records: string[]) => evaluateDkim(HOST, KEY, { kind: 'found', records });

describe('a key record', () => {
  it.each([
    ['as it is asked for', `v=DKIM1; k=rsa; p=${KEY}`],
    ['in any order', `p=${KEY}; k=rsa`],
    ['with white space within the key', `v=DKIM1;p=${KEY.slice(0, 9)} \t${KEY.slice(9)}`],
    ['with tags that allow what we sign', `v=DKIM1; h=sha1:SHA256; s=email; t=y:s; n=note; p=${KEY};`],
  ])('is verified %s', (_how, text) => {
    expect(evaluate(text)).toEqual({ result: 'verified' });
  });

  it('does not mind texts of other kinds beside it', () => {
    expect(evaluate('v=spf1 -all', `v=DKIM1; p=${KEY}`, 'hello')).toEqual({ result: 'verified' });
  });

  it.each([
    ['another key', 'v=DKIM1; p=AAAA', 'has another key than this domain signs with'],
    ['no key', 'v=DKIM1; k=rsa', 'has no p= tag'],
    ['a tag in upper case', `v=DKIM1; P=${KEY}`, 'has no p= tag'],
    ['a revoked key', 'v=DKIM1; p=', 'is revoked: its p= tag is empty'],
    ['a key that is cut off', `v=DKIM1; p=${KEY.slice(0, 20)}`, 'is cut off: the key ends after 20 of 32 characters'],
    ['another version', `v=DKIM2; p=${KEY}`, 'must begin with v=DKIM1'],
    ['its version in the middle', `k=rsa; v=DKIM1; p=${KEY}`, 'must begin with v=DKIM1'],
    ['another kind of key', `v=DKIM1; k=ed25519; p=${KEY}`, 'must have k=rsa'],
    ['another hash', `v=DKIM1; h=sha1; p=${KEY}`, 'must allow sha256 in its h= tag'],
    ['another service', `v=DKIM1; s=tlsrpt; p=${KEY}`, 'must allow email in its s= tag'],
    ['a tag twice', `v=DKIM1; p=${KEY}; p=x`, 'is not a list of tags like "v=DKIM1; k=rsa; p=…"'],
  ])('is wrong with %s', (_what, text, problem) => {
    expect(evaluate(text)).toEqual({ result: 'wrong', problem: `The DKIM record at ${HOST} ${problem}` });
  });

  it('is wrong when there are two, though one is right', () => {
    expect(evaluate(`v=DKIM1; p=${KEY}`, 'v=DKIM1; p=AAAA')).toMatchObject({
      result: 'wrong',
      problem: expect.stringContaining('more than one'),
    });
  });

  it('is wrong when the text is no key record; what it quotes is short and printable', () => {
    const check = evaluate(`\u0000${'é'.repeat(500)}`);
    expect(check).toMatchObject({ result: 'wrong', problem: expect.stringMatching(/^[\x20-\x7e…]{1,200}$/) });
  });

  it('is missing or unknown when there is no record to evaluate', () => {
    expect(evaluateDkim(HOST, KEY, { kind: 'no-domain' })).toMatchObject({ result: 'missing' });
    expect(evaluateDkim(HOST, KEY, { kind: 'no-data' })).toMatchObject({ result: 'missing' });
    expect(evaluateDkim(HOST, KEY, { kind: 'temporary', reason: 'ETIMEOUT' })).toMatchObject({ result: 'unreachable' });
  });

  it('is evaluated whatever it says', () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { minLength: 1 }), (records) => {
        expect(evaluate(...records).result).toBe('wrong');
      }),
    );
  });
});
