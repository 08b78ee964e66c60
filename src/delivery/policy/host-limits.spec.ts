import { retryFacts } from '../../../test/factories/transmissions';
import type { SmtpFacts } from '../ports/outcome';
import { isWorthAnotherHost, resolveOutcome, type TransmissionResult } from './transmission-result';

const softBounce = { kind: 'bounced', bounceType: 'soft', suppress: false };

describe('a message that no host can take, by what it offers', () => {
  const atConnect = { kind: 'failed', cause: 'refused', afterFinalDot: false } as const;
  const tooLarge: SmtpFacts = { phase: 'mail', enhancedCode: '5.3.4', response: 'too large for its SIZE' };

  it('a size over the one that the last host offers bounces like its refusal', () => {
    const result: TransmissionResult = { ...atConnect, cause: 'too-large', smtp: tooLarge };
    const outcome = resolveOutcome(result, retryFacts());
    expect(outcome).toMatchObject({ ...softBounce, reason: 'too-large', smtp: { ...tooLarge, class: 'size' } });
    // The server has sent no code.
    expect(outcome).not.toHaveProperty('smtp.code');
  });

  it.each([
    ['5.6.7', 'The server does not offer SMTPUTF8', 'protocol'],
    ['5.6.3', 'The server does not offer 8BITMIME', 'content-rejected'],
  ])('an extension that the last host does not offer bounces at once: %s', (enhancedCode, response, reason) => {
    const smtp = { phase: 'mail', enhancedCode, response } as const;
    const result: TransmissionResult = { ...atConnect, cause: 'unsupported', smtp };
    expect(isWorthAnotherHost(result)).toBe(true);
    const outcome = resolveOutcome(result, retryFacts());
    expect(outcome).toMatchObject({
      ...softBounce,
      ...{ reason, suppress: false, smtp: { enhancedCode } },
      explanation: expect.not.stringContaining('refused the connection') as string,
    });
    expect(outcome).not.toHaveProperty('smtp.code');
  });
});
