import fc from 'fast-check';
import { classifyReply, type ReplyToClassify } from './classify-reply';
import { PERMANENT_REPLY_RULES } from './permanent-reply-rules';
import { REPLY_EXAMPLES } from '../../../test/corpus/reply-examples';
import { REPLY_RULES } from './reply-rules';
import { stageOfPhase } from './reply-rule';

const SESSION_PHASES = ['connect', 'banner', 'ehlo', 'helo', 'starttls', 'tls', 'auth', 'mail'];
const PHASES = [...SESSION_PHASES, 'rcpt', 'data', 'body', 'dot', 'no-such-phase'];

function parseExample(example: string): ReplyToClassify {
  const [, phase = '', reply = ''] = example.split(' | ');
  const parts = /^(\d{3}) (?:([245]\.\d+\.\d+) )?([^]*)$/.exec(reply);
  return { phase, code: Number(parts?.[1]), enhancedCode: parts?.[2], text: parts?.[3] };
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
  phase: fc.option(fc.constantFrom(...PHASES), { nil: undefined }),
  code: fc.option(fc.oneof(fc.integer({ min: 400, max: 599 }), fc.integer(), fc.double()), { nil: undefined }),
  enhancedCode: arbitraryEnhancedCode,
  text: fc.option(arbitraryText, { nil: undefined }),
});

describe('the table of reply rules', () => {
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
    for (const rule of REPLY_RULES.filter((row) => row.codes[0] < 500)) expect(rule.action).toMatch(/^retry/);
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
        expect(result.action).toMatch(/^retry/);
        expect(result.maximumRetries).toBeUndefined();
      }),
    );
  });

  it('never suppresses before RCPT and bounces there for nothing but the size', () => {
    fc.assert(
      fc.property(arbitraryReply, fc.constantFrom(...SESSION_PHASES, undefined, 'other'), (reply, phase) => {
        const result = classifyReply({ ...reply, phase });
        if (result.class !== 'too-large') expect(result.action).toMatch(/^retry/);
        expect(result.action).not.toBe('bounce-hard-suppress');
      }),
    );
  });

  it('never suppresses for 5.7.x, whatever the text', () => {
    fc.assert(
      fc.property(arbitraryReply, fc.nat(999), fc.constantFrom('rcpt', 'dot'), (reply, detail, phase) => {
        const result = classifyReply({ ...reply, phase, code: 550, enhancedCode: `5.7.${detail}` });
        expect(result.action).not.toBe('bounce-hard-suppress');
      }),
    );
  });

  it.each(['5.1.0', '5.1.1', '5.1.2', '5.1.3', '5.1.4', '5.1.6', '5.1.10'])('suppresses for %s at RCPT', (code) => {
    const result = classifyReply({ phase: 'rcpt', code: 550, enhancedCode: code, text: 'Not here' });
    expect(result).toMatchObject({ action: 'bounce-hard-suppress', tryNextHost: false });
  });

  it('suppresses nobody for a reply to several recipients', () => {
    const reply = { phase: 'dot', code: 550, enhancedCode: '5.1.1', text: 'User unknown', recipientCount: 2 };
    expect(classifyReply(reply).action).toBe('bounce-hard');
  });

  it('asks the next host and then defers when a host refuses before RCPT', () => {
    const reply = { phase: 'banner', code: 554, text: 'No SMTP service here' };
    expect(classifyReply(reply)).toMatchObject({ action: 'retry', tryNextHost: true, maximumRetries: 3 });
  });

  it('slows the destination down when it refuses our traffic before RCPT', () => {
    const reply = { phase: 'banner', code: 554, text: 'Client host blocked using zen.spamhaus.org' };
    expect(classifyReply(reply).action).toBe('retry-and-throttle-destination');
  });

  it('bounces at once when MAIL is refused for the size', () => {
    const reply = { phase: 'mail', code: 552, enhancedCode: '5.3.4', text: 'Message size exceeds fixed limit' };
    expect(classifyReply(reply)).toMatchObject({ action: 'bounce-soft', tryNextHost: false });
  });

  it('reads a code that stands in the text, unless it belongs to a longer number', () => {
    expect(classifyReply({ phase: 'rcpt', code: 550, text: '5.1.1 no' }).ruleId).toBe('bad-mailbox-code');
    expect(classifyReply({ phase: 'rcpt', code: 550, text: '550 5.1.1 no' }).ruleId).toBe('bad-mailbox-code');
    expect(classifyReply({ phase: 'rcpt', code: 550, text: '5.1.1.7 no' }).ruleId).toBe('default-permanent-recipient');
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

describe('stageOfPhase', () => {
  it('counts an unknown phase as before RCPT', () => {
    expect(stageOfPhase(undefined)).toBe('session');
    expect(stageOfPhase('quit')).toBe('session');
    expect(stageOfPhase('RCPT')).toBe('recipient');
  });
});
