import { countsAgainstSender, ReplyClassifier } from './classify-reply';
import type { ReplyToClassify } from './read-reply';
import {
  isBeforeRecipient,
  REASONS,
  REPLY_ACTIONS,
  REPLY_CLASSES,
  REPLY_STAGES,
  type ReplyAction,
  type ReplyRule,
} from './reply-rule';

const RULE: ReplyRule = {
  ...{ id: 'own', codes: ['5xx'], class: 'policy', reason: 'policy', action: 'bounce', bounceType: 'soft' },
  isOwn: true,
};

/** Whether a rule of the operator's with these conditions meets a reply at RCPT with 550. */
function meets(conditions: Partial<ReplyRule>, reply: Partial<ReplyToClassify> = {}): boolean {
  const classifier = new ReplyClassifier([{ ...RULE, ...conditions }]);
  return classifier.classify({ phase: 'rcpt', code: 550, text: 'no', ...reply }).ruleId === 'own';
}

const says = (words: string): Partial<ReplyRule> => ({ matchesText: (text) => text.includes(words) });

describe('which replies a rule meets', () => {
  it.each([
    ['550', 550, true],
    ['550', 551, false],
    ['55x', 550, true],
    ['55x', 559, true],
    ['55x', 560, false],
    ['x50', 450, true],
    ['5x0', 500, true],
    ['5x0', 501, false],
    ['5xx', 5, false],
    ['5xx', 55, false],
    ['5xx', 5_500, false],
    ['5xx', 5.5, false],
    ['xxx', NaN, false],
    ['5xx', undefined, false],
  ])('of codes like %s: %s is %s', (pattern, code, met) => {
    expect(meets({ codes: [pattern] }, { code })).toBe(met);
  });

  it('of any of its codes, stages and enhanced codes, where it names some', () => {
    expect(meets({ codes: ['421', '550'] })).toBe(true);
    expect(meets({ stages: ['mail', 'rcpt'] })).toBe(true);
    expect(meets({ stages: ['mail', 'data'] })).toBe(false);
    expect(meets({ stages: [] })).toBe(false);
    expect(meets({ enhanced: ['7.1', '1.1'] }, { enhancedCode: '5.1.1' })).toBe(true);
    expect(meets({ enhanced: ['7.1'] }, { enhancedCode: '5.1.1' })).toBe(false);
    expect(meets({ enhanced: ['7.1'] })).toBe(false);
    expect(meets({ enhanced: ['7.*'] }, { enhancedCode: '5.7.26' })).toBe(true);
    expect(meets({ enhanced: ['7.*'] }, { enhancedCode: '5.1.7' })).toBe(false);
    expect(meets({ enhanced: ['12.*'] }, { enhancedCode: '5.12.1' })).toBe(true);
  });

  it.each([
    ['4.7.1', true],
    ['5.7.1', true],
    ['2.7.1', true],
    ['3.7.1', false],
    ['x5.7.1', false],
    ['5.7.1x', false],
    ['5.7.1000', false],
    ['5.7.100', false],
    ['15.7.1', false],
  ])('of the enhanced code %s: %s', (enhancedCode, met) => {
    expect(meets({ enhanced: ['7.1'] }, { enhancedCode })).toBe(met);
  });

  it.each([
    ['5.7.1 no', true],
    [' 5.7.1 no', true],
    ['550 5.7.1 no', true],
    ['550-5.7.1 no', true],
    ['450 4.7.1 no', true],
    ['#5.7.1 no', true],
    ['550 #5.7.1 no', true],
    ['5.7.1', true],
    ['no (#5.7.1)', true],
    ['no (#4.7.1), go', true],
    ['no #5.7.1', false],
    ['no 5.7.1', false],
    ['no (#5.7.1', false],
    ['no (#3.7.1)', false],
    ['no (#5.7.123)', false],
    ['no (#5x7.1)', false],
    ['no (#5.7x1)', false],
    ['(5.7.1)', false],
    ['250 5.7.1 no', false],
    ['5x0 5.7.1 no', false],
    ['55 5.7.1 no', false],
    ['550_5.7.1 no', false],
    ['550  5.7.1 no', true],
    ['2.7.1 no', false],
    ['5.7.1.2 no', false],
    ['5.7.12 no', false],
    ['5x7.1 no', false],
    ['5.7x1 no', false],
    ['5.7.1x no', true],
  ])('of the code in the text %j: %s', (text, met) => {
    expect(meets({ enhanced: ['7.1'] }, { text })).toBe(met);
  });

  it.each([
    ['no (#5.7.12)', '7.12'],
    ['550 5.100.123 no', '100.123'],
    ['5.10.26 no', '10.26'],
  ])('of the long code in %j', (text, code) => {
    expect(meets({ enhanced: [code] }, { text })).toBe(true);
    expect(meets({ enhanced: [`${code.split('.')[0]}.*`] }, { text })).toBe(true);
  });

  it('of the code in any line', () => {
    const text = ['550-5.2.1 one', '550 5.7.1 two'];
    expect(meets({ enhanced: ['7.1'] }, { text })).toBe(true);
    expect(meets({ enhanced: ['2.1'] }, { text })).toBe(true);
  });
});

describe('the text that a rule looks at', () => {
  it.each<[string | readonly string[], string]>([
    [['550-the mailbox', '550 is full'], '550-the mailbox is full'],
    [['550-the mailbox', '550-5.2.2 is', '550 5.2.2 full'], 'the mailbox is full'],
    [['the mailbox', '5.2.2 is full'], 'the mailbox is full'],
    [['the mailbox', ' 5.2.2 is full'], 'the mailbox is full'],
    [['the mailbox', '450 4.20.222 is full'], 'the mailbox is full'],
    [['the mailbox', '250 is full'], 'the mailbox 250 is full'],
    [['the mailbox', '5.2.2is full'], 'the mailbox 5.2.2is full'],
    [['the mailbox', 'is 550 5.2.2 full'], 'the mailbox is 550 5.2.2 full'],
    [['the mailbox', '5502 is full'], 'the mailbox 5502 is full'],
    [['550 5.2.2 the', ''], '550 5.2.2 the '],
    ['the \t\r\n mailbox', 'the mailbox'],
    ['don\u2019t, \u2018quoted\u2019', "don't, 'quoted'"],
  ])('of %j is %j', (text, words) => {
    expect(meets(says(words), { text })).toBe(true);
  });

  it('is none when there is none', () => {
    const isEmpty = { matchesText: (text: string) => text === '' };
    for (const text of [undefined, [], '']) expect(meets(isEmpty, { text })).toBe(true);
  });

  it('has 500 characters of a line and 20 lines', () => {
    expect(meets(says('end'), { text: `${'x'.repeat(497)}end` })).toBe(true);
    expect(meets(says('end'), { text: `${'x'.repeat(498)}end` })).toBe(false);
    const lines = [...Array<string>(19).fill('x'), 'twentieth', 'next'];
    expect(meets(says('twentieth'), { text: lines })).toBe(true);
    expect(meets(says('next'), { text: lines })).toBe(false);
  });

  it('has 4,000 characters, of more the first 3,500 and the last 500', () => {
    const line = 'x'.repeat(499);
    const middle = `${'x'.repeat(1)}middle${'x'.repeat(492)}`;
    // The middle word stands at 3,497 to 3,502.
    const most = [...Array<string>(6).fill(line), 'x'.repeat(495), middle, 'x'.repeat(4)];
    expect(most.join(' ')).toHaveLength(4_000);
    expect(most.join(' ').indexOf('middle')).toBe(3_497);
    expect(meets(says('middle'), { text: most })).toBe(true);
    const more = [...most.slice(0, -1), 'x'.repeat(5)];
    expect(meets(says('middle'), { text: more })).toBe(false);
    expect(meets(says('xmid '), { text: more })).toBe(true);
    const long = ['begins', ...Array<string>(12).fill(line), 'ends'];
    expect(meets(says('begins'), { text: long })).toBe(true);
    expect(meets(says('ends'), { text: long })).toBe(true);
    const isShort = { matchesText: (text: string) => text.length === 4_001 };
    expect(meets(isShort, { text: long })).toBe(true);
  });
});

describe('what is done', () => {
  const done = (action: ReplyAction, reply: Partial<ReplyToClassify>, more: Partial<ReplyRule> = {}) => {
    const { ruleId, reason, bounceType, explanation, ...result } = new ReplyClassifier([
      { ...RULE, action, ...more },
    ]).classify({ phase: 'rcpt', code: 550, ...reply });
    expect([ruleId, reason, bounceType, explanation]).toEqual(['own', 'policy', 'soft', more.explanation]);
    return result;
  };

  it('is returned with its explanation', () => {
    const result = done('bounce', {}, { explanation: 'Ours', class: 'content' });
    expect(result).toEqual({ class: 'content', action: 'bounce', tryNextHost: false });
  });

  it.each(['retry', 'slow', 'suspend'] as const)(
    'to keep the delivery: %s before RCPT asks the next host',
    (action) => {
      expect(done(action, { phase: 'greeting' })).toEqual({ class: 'policy', action, tryNextHost: true });
      expect(done(action, { phase: 'mail' }, { class: 'size' })).toEqual({ class: 'size', action, tryNextHost: false });
      expect(done(action, {})).toEqual({ class: 'policy', action, tryNextHost: false });
    },
  );

  it.each(['bounce', 'bounce_and_suppress'] as const)('to end it: %s before RCPT only if it is meant', (action) => {
    const kept = { class: 'policy', action: 'retry', tryNextHost: true, maximumRetries: 3 };
    const ended = { class: 'policy', action: 'bounce', tryNextHost: false };
    expect(done(action, { phase: 'greeting' })).toEqual(kept);
    expect(done(action, { phase: undefined })).toEqual(kept);
    expect(done(action, { phase: 'mail' }, { isOwn: false, stages: ['mail'] })).toEqual(kept);
    expect(done(action, { phase: 'mail' }, { stages: ['mail'] })).toEqual(ended);
    expect(done(action, { phase: 'mail' }, { class: 'size' })).toEqual({ ...ended, class: 'size' });
  });

  it.each([
    [undefined, 'bounce_and_suppress'],
    [0, 'bounce_and_suppress'],
    [1, 'bounce_and_suppress'],
    [2, 'bounce'],
  ])('to the recipients of a reply that speaks for %s', (recipientCount, action) => {
    expect(done('bounce_and_suppress', { recipientCount }).action).toBe(action);
    expect(done('retry', { recipientCount }).action).toBe('retry');
  });

  it('by the operator’s rules before the built-in ones, the first that matches', () => {
    const classifier = new ReplyClassifier([
      { ...RULE, id: 'never', codes: ['421'] },
      { ...RULE, id: 'first' },
      { ...RULE, id: 'second' },
    ]);
    expect(classifier.classify({ phase: 'rcpt', code: 550, enhancedCode: '5.1.1' }).ruleId).toBe('first');
    expect(classifier.classify({ phase: 'rcpt', code: 450 }).ruleId).not.toMatch(/first|second|never/);
  });
});

describe('names that events keep', () => {
  it('never change', () => {
    expect(REPLY_CLASSES).toEqual([
      ...['mailbox', 'full', 'policy', 'reputation', 'authentication', 'content', 'rate', 'size', 'infrastructure'],
      'challenge',
    ]);
    expect(REPLY_ACTIONS).toEqual(['retry', 'slow', 'suspend', 'bounce', 'bounce_and_suppress']);
    expect(REPLY_STAGES).toEqual(['connect', 'mail', 'rcpt', 'data', 'final']);
    expect(REASONS).toEqual({
      mailbox: ['bad-mailbox', 'bad-domain', 'mailbox-disabled'],
      full: ['mailbox-full'],
      policy: ['policy', 'sender-rejected', 'unclassified'],
      reputation: ['reputation'],
      authentication: ['authentication'],
      content: ['content-rejected', 'protocol'],
      rate: ['rate-limited'],
      size: ['too-large'],
      infrastructure: ['temporary', 'routing', 'remote-system', 'protocol', 'relay-denied', 'credentials'],
      challenge: ['greylisted'],
    });
  });

  it('count against the sender where the sender can change something', () => {
    const counting = [...Object.values(REASONS).flat(), 'timeout'].filter(countsAgainstSender);
    expect(counting).toEqual([
      ...['bad-mailbox', 'bad-domain', 'mailbox-disabled', 'mailbox-full', 'policy', 'sender-rejected', 'unclassified'],
      ...['authentication', 'content-rejected', 'too-large'],
    ]);
  });

  it('say whether something has been said of the recipient', () => {
    const phases = ['dns', 'connect', 'greeting', 'tls', 'auth', 'mail', 'rcpt', 'data', 'final'] as const;
    expect(phases.filter(isBeforeRecipient)).toEqual(['dns', 'connect', 'greeting', 'tls', 'auth', 'mail']);
    expect(isBeforeRecipient(undefined)).toBe(true);
  });
});

describe('a 550 whose enhanced code is temporary', () => {
  const classify = (text: string, enhancedCode?: string) => {
    const { action, bounceType } = new ReplyClassifier().classify({ phase: 'rcpt', code: 550, text, enhancedCode });
    return [action, bounceType];
  };

  it('bounces, and suppresses nothing', () => {
    expect(classify('4.2.1 mailbox busy')).toEqual(['bounce', 'soft']);
    expect(classify('user unknown', '4.1.1')).toEqual(['bounce', 'soft']);
    expect(classify('5.2.1 mailbox disabled')).toEqual(['bounce_and_suppress', 'hard']);
    expect(classify('user unknown')).toEqual(['bounce_and_suppress', 'hard']);
  });

  it('is what another line of the reply says that is permanent', () => {
    const lines = ['4.2.1 mailbox', '5.2.1 disabled'];
    expect(new ReplyClassifier().classify({ phase: 'rcpt', code: 550, text: lines }).action).toBe(
      'bounce_and_suppress',
    );
  });

  it('suppresses by a rule of the operator', () => {
    const own: ReplyRule = { ...RULE, class: 'mailbox', reason: 'bad-mailbox', action: 'bounce_and_suppress' };
    const { action } = new ReplyClassifier([own]).classify({ phase: 'rcpt', code: 550, text: '4.2.1 busy' });
    expect(action).toBe('bounce_and_suppress');
  });
});
