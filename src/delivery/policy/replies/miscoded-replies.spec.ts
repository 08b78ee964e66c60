import { REFUSALS_OF_THE_SENDER, UNKNOWN_MAILBOXES } from '../../../../test/factories/miscoded-replies';
import { BUILT_IN_CLASSIFIER } from './classify-reply';

/** Words of a reply that suppress its recipient, under codes of the mailbox. */
function suppresses(text: string, phase: 'rcpt' | 'final', codes: readonly string[]): boolean {
  return codes.some((enhancedCode) => {
    const reply = { phase, code: 550, enhancedCode, text: `550 ${enhancedCode} ${text}` };
    return BUILT_IN_CLASSIFIER.classify(reply).action === 'bounce_and_suppress';
  });
}

describe.each(['rcpt', 'final'] as const)('a reply with a code of the mailbox, at %s', (phase) => {
  it('keeps the address when its words are about the sender, this service or the message', () => {
    const codes = ['5.1.1', '5.1.0', '5.2.1'];
    expect(REFUSALS_OF_THE_SENDER.filter((text) => suppresses(text, phase, codes))).toEqual([]);
  });

  it('suppresses the address when its words name a mailbox that is unknown or closed', () => {
    expect(UNKNOWN_MAILBOXES.filter((text) => !suppresses(text, phase, ['5.1.1']))).toEqual([]);
  });
});

it.each(['550 5.7.1', '554 5.7.1', '450 4.7.1'])(
  'the name of a domain that fails a check does not suspend a destination: %s',
  (codes) => {
    const [code, enhancedCode] = codes.split(' ');
    for (const domain of ['blacklist.example', 'spamhaus.example', 'my-rbl.example', 'dnsbl.uceprotect.example']) {
      for (const said of ['rejected by DMARC policy for', 'SPF check failed for', 'DKIM verification failed:']) {
        const reply = { phase: 'final', code: Number(code), enhancedCode, text: `${codes} ${said} ${domain}` } as const;
        expect(BUILT_IN_CLASSIFIER.classify(reply)).toMatchObject({ class: 'authentication' });
      }
    }
  },
);
