import fc from 'fast-check';
import { toSmtpFacts } from './smtp-result';

describe('toSmtpFacts', () => {
  const conversation = { hostName: 'mx.example.com', tls: true };

  it('of an accepted message', () => {
    const reply = { code: 250, enhancedCode: '2.0.0', lines: ['2.0.0 queued as 42'] };
    expect(toSmtpFacts({ kind: 'accepted', reply, ...conversation })).toEqual({
      code: 250,
      enhancedCode: '2.0.0',
      response: '250 2.0.0 queued as 42',
      mxHost: 'mx.example.com',
      tls: true,
      phase: 'final',
    });
  });

  it('of a rejected message: the last line, cut at 500 characters', () => {
    const reply = { code: 550, lines: ['first', 'x'.repeat(2_000)] };
    const facts = toSmtpFacts({ kind: 'rejected', phase: 'rcpt', reply, ...conversation });
    expect(facts).toMatchObject({ code: 550, phase: 'rcpt' });
    expect(facts.response).toHaveLength(500);
    expect(facts).not.toHaveProperty('enhancedCode');
  });

  it('of a reply of several lines: all of them as they came', () => {
    const reply = { code: 550, enhancedCode: '5.2.1', lines: ['5.2.1 at a rate', '', '5.2.1 https://x.example'] };
    expect(toSmtpFacts({ kind: 'rejected', phase: 'rcpt', reply, ...conversation })).toMatchObject({
      response: '550 5.2.1 https://x.example',
      lines: ['550-5.2.1 at a rate', '550-', '550 5.2.1 https://x.example'],
    });
  });

  it('keeps at most 20 lines of 500 characters, the last one always', () => {
    const lines = fc.array(fc.string({ maxLength: 700 }), { minLength: 2, maxLength: 60 });
    fc.assert(
      fc.property(lines, (given) => {
        const reply = { code: 451, lines: given };
        const facts = toSmtpFacts({ kind: 'rejected', phase: 'final', reply, ...conversation });
        expect(facts.lines).toHaveLength(Math.min(20, given.length));
        expect(Math.max(...(facts.lines ?? []).map((line) => line.length))).toBeLessThanOrEqual(500);
        expect(facts.lines?.at(-1)).toBe(facts.response);
      }),
    );
  });

  it('of a failure without a reply', () => {
    const result = { kind: 'failed', phase: 'mail', cause: 'too-large', afterFinalDot: false, detail: '' } as const;
    expect(toSmtpFacts({ ...result, enhancedCode: '5.3.4', ...conversation })).toEqual({
      enhancedCode: '5.3.4',
      mxHost: 'mx.example.com',
      tls: true,
      phase: 'mail',
    });
  });
});
