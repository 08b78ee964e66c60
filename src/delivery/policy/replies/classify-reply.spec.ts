import fc from 'fast-check';
import { definitions, parseExample } from '../../../../test/factories/reply-examples';
import { BUILT_IN_CLASSIFIER } from './classify-reply';
import type { ReplyToClassify } from './read-reply';
import wordLists from './rules/words.json';
import { SMTP_PHASES } from '../../ports/attempt-trace';
import { stageOf } from './reply-rule';
import { anyCharacter } from '../../../../test/factories/any-character';

const classifyReply = (reply: ReplyToClassify) => BUILT_IN_CLASSIFIER.classify(reply);
const EARLY_PHASES = ['dns', 'connect', 'greeting', 'tls', 'auth', 'mail'] as const;

const patterns = [...definitions.flatMap(({ text }) => text ?? []), ...Object.values(wordLists)];

const words = patterns.flatMap((pattern) => pattern.split('|'));
const arbitraryText = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 700 }),
  fc.array(fc.constantFrom(...words, 'user unknown', 'mailbox'), { maxLength: 6 }).map((parts) => parts.join(' ')),
);
const arbitraryEnhancedCode = fc.option(
  fc.tuple(fc.constantFrom(2, 4, 5), fc.nat(8), fc.nat(30)).map((parts) => parts.join('.')),
  { nil: undefined },
);
const arbitraryReply = fc.record({
  phase: fc.option(fc.constantFrom(...SMTP_PHASES), { nil: undefined }),
  code: fc.option(fc.oneof(fc.integer({ min: 400, max: 599 }), fc.integer(), fc.double()), { nil: undefined }),
  enhancedCode: arbitraryEnhancedCode,
  text: fc.option(fc.oneof(arbitraryText, fc.array(arbitraryText, { maxLength: 25 })), { nil: undefined }),
});

/** Actions that keep the delivery. */
const KEEPS = /^(?:retry|slow|suspend)$/;
/**
 * What says that an address is bad, apart from the rules: RFC 3463 X.1 without the sender's (X.1.7, X.1.8), a mailbox that is
 * disabled, two codes of edges, or a word for a mailbox or for who has it.
 */
const OF_RECIPIENT =
  /^#?[245]\.(?:1\.(?!7$|8$)\d+|2\.1|4\.1|5\.0)$|user|mailbox|account|address|recipient|destinat|benutzer|customer|person|alias|local part|does not exist|domino directory|nicht bekannt|existiert nicht|utilisateur|usuario|rio desconhecido|utente|nger unbekannt|rcptto|e-mail|email|no one|adresse|member of domain|in public name|is no longer valid|misspelled|ofr_416|ib603a/i;

/** Codes and words of a reply. */
function causesIn({ enhancedCode = '', text = '' }: ReplyToClassify): string[] {
  const lines = typeof text === 'string' ? [text] : text;
  return [enhancedCode, ...lines.flatMap((line) => [line, ...(line.match(/#?\b[245]\.\d{1,3}\.\d{1,3}\b/g) ?? [])])];
}

describe('classifyReply', () => {
  it('returns a result for every input', () => {
    fc.assert(
      fc.property(arbitraryReply, (reply) => {
        const result = classifyReply(reply);
        expect(result.ruleId).not.toBe('');
        expect(classifyReply(reply)).toEqual(result);
      }),
    );
  });

  it('retries every 4xx, in every phase', () => {
    fc.assert(
      fc.property(arbitraryReply, fc.integer({ min: 400, max: 499 }), (reply, code) => {
        const result = classifyReply({ ...reply, code });
        expect(result.action).toMatch(KEEPS);
        expect(result.maximumRetries).toBeUndefined();
      }),
    );
  });

  it('never suppresses before RCPT and bounces there for nothing but the size', () => {
    fc.assert(
      fc.property(arbitraryReply, fc.constantFrom(...EARLY_PHASES, undefined), (reply, phase) => {
        const result = classifyReply({ ...reply, phase });
        if (result.class !== 'size') expect(result.action).toMatch(KEEPS);
        expect(result.action).not.toBe('bounce_and_suppress');
      }),
    );
  });

  it('never suppresses for 5.7.x, whatever the text', () => {
    fc.assert(
      fc.property(
        arbitraryReply,
        fc.nat(999),
        fc.constantFrom('rcpt' as const, 'final' as const),
        (reply, detail, phase) => {
          const result = classifyReply({ ...reply, phase, code: 550, enhancedCode: `5.7.${detail}` });
          expect(result.action).not.toBe('bounce_and_suppress');
        },
      ),
    );
  });

  it.each(['5.1.0', '5.1.1', '5.1.2', '5.1.3', '5.1.4', '5.1.6', '5.1.10'])('suppresses for %s at RCPT', (code) => {
    const result = classifyReply({ phase: 'rcpt', code: 550, enhancedCode: code, text: 'Not here' });
    expect(result).toMatchObject({ action: 'bounce_and_suppress', tryNextHost: false });
  });

  it('suppresses no recipient for a reply to several', () => {
    const reply = {
      phase: 'final',
      code: 550,
      enhancedCode: '5.1.1',
      text: 'User unknown',
      recipientCount: 2,
    } as const;
    expect(classifyReply(reply).action).toBe('bounce');
  });

  it('asks the next host and then defers when a host refuses before RCPT', () => {
    const reply = { phase: 'greeting', code: 554, text: 'No SMTP service here' } as const;
    expect(classifyReply(reply)).toMatchObject({ action: 'retry', tryNextHost: true, maximumRetries: 3 });
  });

  it('suspends the destination when it refuses our traffic before RCPT, and gives nothing up', () => {
    const reply = { phase: 'greeting', code: 554, text: 'Client host blocked using zen.spamhaus.org' } as const;
    expect(classifyReply(reply)).toMatchObject({ action: 'suspend' });
    expect(classifyReply(reply).maximumRetries).toBeUndefined();
  });

  it('bounces at once when MAIL is refused for the size', () => {
    const reply = {
      phase: 'mail',
      code: 552,
      enhancedCode: '5.3.4',
      text: 'Message size exceeds fixed limit',
    } as const;
    expect(classifyReply(reply)).toMatchObject({ action: 'bounce', tryNextHost: false });
  });

  it('reads a code that stands in the text, unless it belongs to a longer number', () => {
    expect(classifyReply({ phase: 'rcpt', code: 550, text: '5.1.1 no' }).ruleId).toBe('bad-mailbox-code');
    expect(classifyReply({ phase: 'rcpt', code: 550, text: '550 5.1.1 no' }).ruleId).toBe('bad-mailbox-code');
    expect(classifyReply({ phase: 'rcpt', code: 550, text: '5.1.1.7 no' }).ruleId).toBe('default-permanent-recipient');
  });

  it('never suppresses when any line tells of a rate, the sender, a block list or authentication', () => {
    const held = fc.constantFrom(
      'receiving mail at a rate that prevents',
      'Sender verify failed',
      'blocked using zen.spamhaus.org',
      'does not pass DMARC verification',
      'very low reputation of the sending IP address',
    );
    const bad = fc.constantFrom('5.1.1 User unknown', '5.2.1 Mailbox disabled', 'No Such User Here', '5.1.2 no');
    const filler = fc.constantFrom('', 'https://support.example.com/', '5.2.1 https://support.example.com/');
    const lines = fc.tuple(held, bad, filler, filler).chain((all) => fc.shuffledSubarray(all, { minLength: 4 }));
    fc.assert(
      fc.property(lines, fc.constantFrom('rcpt' as const, 'final' as const), (text, phase) => {
        expect(classifyReply({ phase, code: 550, text }).action).not.toBe('bounce_and_suppress');
      }),
    );
  });

  it('suppresses for a recipient-side cause alone, however odd the reply', () => {
    const odd = fc.record({
      phase: fc.constantFrom('rcpt' as const, 'data' as const, 'final' as const),
      code: fc.constantFrom(550, 551, 553, 554, 599),
      enhancedCode: arbitraryEnhancedCode,
      text: fc.oneof(arbitraryText, fc.array(fc.oneof(arbitraryText, fc.lorem()), { maxLength: 4 })),
    });
    let suppressed = 0;
    fc.assert(
      fc.property(fc.oneof(arbitraryReply, odd), fc.option(fc.nat(3)), (reply, recipientCount) => {
        const result = classifyReply({ ...reply, recipientCount: recipientCount ?? undefined });
        if (result.action !== 'bounce_and_suppress') return;
        suppressed += 1;
        expect(result.class).toBe('mailbox');
        expect(['rcpt', 'data', 'final']).toContain(reply.phase);
        expect(reply.code).toBeGreaterThanOrEqual(500);
        expect(recipientCount ?? 1).toBeLessThanOrEqual(1);
        expect(causesIn(reply)).toEqual(expect.arrayContaining([expect.stringMatching(OF_RECIPIENT)]));
      }),
      { numRuns: 2_000 },
    );
    // Else nothing was shown.
    expect(suppressed).toBeGreaterThan(20);
  });

  it.each([
    '550 Invalid address in From header',
    '550 sender address: user unknown',
    '553 Sender invalid address',
    '550 MAIL FROM user unknown',
    '550 Mail from unknown user rejected',
    '550 from address is disabled',
    '550 Reply-To: invalid address',
    '550 Return address unknown',
    '550 Bounce address unknown, cannot verify',
    '550 sending account is suspended due to abuse',
    '550 Your mailbox is closed for sending; invoice unpaid',
    '550 this address no longer accepts mail from you',
    '535 account not found',
    '550 Unknown account: you have to log in first',
    '550 not authenticated: unknown user',
    '550 relaying for unknown user not permitted',
    '550 IP address unknown',
    '550 unknown address 192.0.2.1',
    '550 client host address unknown',
    '550 invalid address literal in EHLO',
    '550 unknown user agent',
    '550 license is no longer valid',
    '550 5.1.9 Message relayed to non-compliant mailer',
  ])('does not take a word for a bad address: %s', (text) => {
    const [, code = '', enhancedCode] = /^(\d+) (?:(5\S+) )?/.exec(text) ?? [];
    for (const phase of ['rcpt', 'data', 'final'] as const) {
      const { action } = classifyReply({ phase, code: Number(code), enhancedCode, text });
      expect(action).not.toBe('bounce_and_suppress');
    }
  });

  it('never suppresses when the words of a refusal of the sender stand anywhere among those of a bad address', () => {
    const sides = ['reputation', 'authentication', 'rate', 'content', 'full'];
    const ofSender = definitions.filter(
      ({ class: kind, codes }) => sides.includes(kind) && codes?.[0]?.startsWith('5'),
    );
    const ofRecipient = definitions.filter(({ action }) => action === 'bounce_and_suppress');
    const linesOf = (text: string) => (text.split(' | ')[1] ?? '').split('\n').map((line) => line.slice(4));
    const worded = ofSender.filter(({ text, words: list }) => text !== undefined || list !== undefined);
    const one = fc.constantFrom(...worded.flatMap((rule) => rule.replies));
    const other = fc.constantFrom(...ofRecipient.flatMap((rule) => rule.replies));
    fc.assert(
      fc.property(one, other, fc.boolean(), (refusal, bad, isFirst) => {
        const { code } = parseExample(refusal);
        const [first, last] = isFirst ? [refusal, bad] : [bad, refusal];
        const text = [...linesOf(first), ...linesOf(last)];
        expect(classifyReply({ phase: 'rcpt', code, text }).action).not.toBe('bounce_and_suppress');
      }),
      { numRuns: 1_000 },
    );
  });

  it('reads a sentence on over the end of a line, where the codes stand again', () => {
    const text = ['550-5.2.1 The user is receiving mail at a', '550 5.2.1 rate that prevents it'];
    expect(classifyReply({ phase: 'rcpt', code: 550, enhancedCode: '5.2.1', text })).toMatchObject({
      class: 'rate',
      action: 'retry',
    });
  });

  it('looks at 500 characters and no more', () => {
    const text = `${' '.repeat(10)}${'x'.repeat(500)} user unknown`;
    expect(classifyReply({ phase: 'rcpt', code: 550, text }).ruleId).toBe('default-permanent-recipient');
  });

  it('takes a reply that is no refusal for a broken conversation', () => {
    for (const code of [undefined, NaN, 0, 250, 354, 600]) {
      expect(classifyReply({ phase: 'rcpt', code }).ruleId).toBe('unreadable');
    }
  });
});

describe('stageOf', () => {
  it('counts all that comes before MAIL, and what is missing, as the connection', () => {
    const stages = [undefined, ...SMTP_PHASES].map(stageOf);
    expect(new Set(stages)).toEqual(new Set(['connect', 'mail', 'rcpt', 'data', 'final']));
    expect(([undefined, 'dns', 'greeting', 'tls', 'auth'] as const).map(stageOf)).toEqual(
      Array<string>(5).fill('connect'),
    );
  });
});
