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
