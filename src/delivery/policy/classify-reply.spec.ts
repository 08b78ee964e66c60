import fc from 'fast-check';
import { classifyReply, type ReplyToClassify } from './classify-reply';
import { PERMANENT_REPLY_RULES } from './permanent-reply-rules';
import { REPLY_EXAMPLES } from '../../../test/corpus/reply-examples';
import { REPLY_RULES } from './reply-rules';
import { readPhase, SMTP_PHASES } from '../ports/smtp-phase';
import { stageOf } from './reply-rule';

const EARLY_PHASES = ['dns', 'connect', 'greeting', 'tls', 'auth', 'mail'] as const;

/** As the connection hands it over: all lines as they came, the enhanced code of the first. */
function parseExample(example: string): ReplyToClassify {
  const [, named, reply = ''] = example.split(' | ');
  const [, code, enhancedCode] = /^(\d{3})[ -](?:([245]\.\d+\.\d+) )?/.exec(reply) ?? [];
  const phase = SMTP_PHASES.find((candidate) => candidate === named);
  return { phase, code: Number(code), enhancedCode, text: reply.split('\n') };
}

const examples = Object.entries(REPLY_EXAMPLES).flatMap(([ruleId, texts]) => texts.map((text) => ({ ruleId, text })));

const words = REPLY_RULES.flatMap((rule) => rule.text?.source.split('|') ?? []);
const arbitraryText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 700 }),
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
  text: fc.option(arbitraryText, { nil: undefined }),
});

/** Actions that keep the delivery. */
const KEEPS = /^(?:retry|slow|suspend)$/;
/** Replies of several lines whose last one says nothing, or something else. */
const LONG_REPLIES = examples.filter(({ text }) => text.includes('\n'));

describe('the table of reply rules', () => {
  it('has replies of several lines', () => {
    expect(LONG_REPLIES.length).toBeGreaterThan(5);
  });

  it('has an example whose phase is known, every time', () => {
    expect(examples.filter(({ text }) => parseExample(text).phase === undefined)).toEqual([]);
  });

  it('has a unique id in every row', () => {
    expect(new Set(REPLY_RULES.map((rule) => rule.id)).size).toBe(REPLY_RULES.length);
  });

  it('has an example for every row, and no example without a row', () => {
    expect(Object.keys(REPLY_EXAMPLES).sort()).toEqual(REPLY_RULES.map((rule) => rule.id).sort());
    expect(Object.values(REPLY_EXAMPLES).every((texts) => texts.length > 0)).toBe(true);
  });

  it.each(examples)('$ruleId is the first row for $text', ({ ruleId, text }) => {
    expect(classifyReply(parseExample(text)).ruleId).toBe(ruleId);
  });

  it('uses no repetition in its patterns, so that matching is linear', () => {
    for (const rule of REPLY_RULES) expect(rule.text?.source ?? '').not.toMatch(/[*+{]/);
  });

  it('never bounces a 4xx', () => {
    for (const rule of REPLY_RULES.filter((row) => row.codes[0] < 500)) expect(rule.action).toMatch(KEEPS);
  });

  it('suppresses for faults of the recipient only', () => {
    const suppressing = PERMANENT_REPLY_RULES.filter((rule) => rule.action === 'bounce-hard-suppress');
    expect(new Set(suppressing.map((rule) => rule.class))).toEqual(
      new Set(['bad-mailbox', 'bad-domain', 'mailbox-disabled']),
    );
  });
});

describe('classifyReply', () => {
  it('answers every input', () => {
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
        if (result.class !== 'too-large') expect(result.action).toMatch(KEEPS);
        expect(result.action).not.toBe('bounce-hard-suppress');
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
          expect(result.action).not.toBe('bounce-hard-suppress');
        },
      ),
    );
  });

  it.each(['5.1.0', '5.1.1', '5.1.2', '5.1.3', '5.1.4', '5.1.6', '5.1.10'])('suppresses for %s at RCPT', (code) => {
    const result = classifyReply({ phase: 'rcpt', code: 550, enhancedCode: code, text: 'Not here' });
    expect(result).toMatchObject({ action: 'bounce-hard-suppress', tryNextHost: false });
  });

  it('suppresses nobody for a reply to several recipients', () => {
    const reply = {
      phase: 'final',
      code: 550,
      enhancedCode: '5.1.1',
      text: 'User unknown',
      recipientCount: 2,
    } as const;
    expect(classifyReply(reply).action).toBe('bounce-hard');
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
    expect(classifyReply(reply)).toMatchObject({ action: 'bounce-soft', tryNextHost: false });
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
        expect(classifyReply({ phase, code: 550, text }).action).not.toBe('bounce-hard-suppress');
      }),
    );
  });

  it('reads a sentence on over the end of a line, where the codes stand again', () => {
    const text = ['550-5.2.1 The user is receiving mail at a', '550 5.2.1 rate that prevents it'];
    expect(classifyReply({ phase: 'rcpt', code: 550, enhancedCode: '5.2.1', text })).toMatchObject({
      class: 'rate-limited',
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
    expect([undefined, 'dns', 'greeting', 'tls', 'auth'].map((phase) => stageOf(readPhase(phase)))).toEqual(
      Array<string>(5).fill('connect'),
    );
  });
});

describe('readPhase', () => {
  it.each([
    ['final-dot', 'final'],
    ['dot', 'final'],
    ['body', 'data'],
    ['banner', 'greeting'],
    ['ehlo', 'greeting'],
    ['starttls', 'tls'],
    ['routing', 'dns'],
    ['rcpt', 'rcpt'],
    ['quit', undefined],
    [undefined, undefined],
  ])('reads the stored name %s as %s', (stored, phase) => {
    expect(readPhase(stored)).toBe(phase);
  });
});
