import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { definitions, examples, parseExample } from '../../../../test/factories/reply-examples';
import { ConfigurationError } from '../../../config/load-config';
import { BUILT_IN_CLASSIFIER, ReplyClassifier } from './classify-reply';
import { readOwnRules, REPLY_RULES, RULE_FILES } from './reply-rules';
import wordLists from './rules/words.json';

/** Actions that keep the delivery. */
const KEEPS = /^(?:retry|slow|suspend)$/;
/** Replies of several lines whose last one says nothing, or something else. */
const LONG_REPLIES = examples.filter(({ text }) => text.includes('\n'));
const patterns = [...definitions.flatMap(({ text }) => text ?? []), ...Object.values(wordLists)];

describe('the table of reply rules', () => {
  it('has at least 200 rules, of named receivers, each with a source of its own', () => {
    expect(REPLY_RULES.length).toBeGreaterThanOrEqual(200);
    for (const { receiver, sources, rules } of RULE_FILES) {
      expect(receiver).not.toBe('');
      expect([...new Set(rules.map(({ source }) => source))].sort()).toEqual(Object.keys(sources).sort());
    }
    const published = /^https:\/\/\S+(?: \([^)]+\))?$|^observed in /;
    const unnamed = REPLY_RULES.filter(({ source = '' }) => !published.test(source));
    expect(unnamed.map(({ id, source }) => ({ id, source }))).toEqual([]);
  });

  it('has replies of several lines', () => {
    expect(LONG_REPLIES.length).toBeGreaterThan(30);
  });

  it('has an example whose phase is known, every time', () => {
    expect(examples.filter(({ text }) => parseExample(text).phase === undefined)).toEqual([]);
  });

  it('has a unique id in every row', () => {
    expect(new Set(REPLY_RULES.map((rule) => rule.id)).size).toBe(REPLY_RULES.length);
    expect(REPLY_RULES.map((rule) => rule.id).sort()).toEqual(definitions.map((rule) => rule.id).sort());
  });

  it('has a reply and an explanation for every row', () => {
    expect(definitions.filter((rule) => rule.replies.length === 0 || !rule.explanation).map((rule) => rule.id)).toEqual(
      [],
    );
  });

  it('matches every example by its own rule', () => {
    const missed = examples.filter(
      ({ ruleId, text }) => BUILT_IN_CLASSIFIER.classify(parseExample(text)).ruleId !== ruleId,
    );
    expect(missed).toEqual([]);
    expect(examples.length).toBeGreaterThanOrEqual(REPLY_RULES.length);
  });

  it('uses no repetition in its patterns, so that matching is linear', () => {
    for (const pattern of patterns) expect(pattern).not.toMatch(/[*+{]/);
  });

  it('never bounces a 4xx', () => {
    const temporary = REPLY_RULES.filter((row) => row.codes.some((code) => code.startsWith('4')));
    expect(temporary.filter((rule) => !KEEPS.test(rule.action)).map((rule) => rule.id)).toEqual([]);
  });

  it('suppresses for faults of the recipient only', () => {
    const suppressing = REPLY_RULES.filter((rule) => rule.action === 'bounce_and_suppress');
    expect(new Set(suppressing.map((rule) => rule.class))).toEqual(new Set(['mailbox']));
    expect(new Set(suppressing.map((rule) => rule.reason))).toEqual(
      new Set(['bad-mailbox', 'bad-domain', 'mailbox-disabled']),
    );
  });
});

const folder = mkdtempSync(join(tmpdir(), 'rules-'));
const file = join(folder, 'rules.json');
afterAll(() => rmSync(folder, { recursive: true }));

function write(rules: unknown): string {
  writeFileSync(file, JSON.stringify({ rules }));
  return file;
}

function classifierOf(...rules: object[]): ReplyClassifier {
  return new ReplyClassifier(readOwnRules(write(rules)));
}

const unknownUser = { phase: 'rcpt', code: 550, enhancedCode: '5.1.1', text: '550 5.1.1 User unknown' } as const;
const rule = { id: 'ours', class: 'rate', action: 'retry' };

describe('rules of the operator', () => {
  it('go before the built-in ones, with all that they may say', () => {
    const classifier = classifierOf({
      ...{ ...rule, stages: ['rcpt'], codes: ['55x'], enhancedCodes: ['5.1.*'] },
      ...{ text: 'user.*UNKNOWN', explanation: 'Their directory is down' },
    });
    expect(classifier.classify(unknownUser)).toMatchObject({
      ...{ ruleId: 'ours', class: 'rate', action: 'retry', explanation: 'Their directory is down' },
    });
    for (const other of [
      { phase: 'final' },
      { code: 540 },
      { enhancedCode: '5.2.1', text: 'x' },
      { text: 'no such user' },
    ]) {
      expect(classifier.classify({ ...unknownUser, ...(other as object) }).ruleId).not.toBe('ours');
    }
  });

  it('match every refusal when they name no code', () => {
    const classifier = classifierOf(rule);
    for (const code of [400, 421, 550, 599]) expect(classifier.classify({ phase: 'rcpt', code }).ruleId).toBe('ours');
    expect(classifier.classify({ phase: 'rcpt', code: 250 }).ruleId).toBe('unreadable');
  });

  it('bounce before RCPT only where they name the stage, and never suppress there', () => {
    const reply = { phase: 'mail', code: 550, text: 'go away' } as const;
    const suppressing = { id: 'ours', class: 'mailbox', action: 'bounce_and_suppress' };
    expect(classifierOf(suppressing).classify(reply).action).toBe('retry');
    expect(classifierOf({ ...suppressing, stages: ['mail'] }).classify(reply).action).toBe('bounce');
    expect(classifierOf(suppressing).classify({ ...reply, phase: 'rcpt' }).action).toBe('bounce_and_suppress');
  });

  it('take linear time, whatever they and the text are', () => {
    const classifier = classifierOf({ ...rule, text: '(a+)+(b|a+)*$' });
    const text = Array<string>(20).fill('a'.repeat(499) + '!');
    expect(classifier.classify({ phase: 'rcpt', code: 550, text }).ruleId).not.toBe('ours');
  });

  it.each<[string, unknown, string]>([
    ['no array', { id: 'x' }, 'must be an object with an array "rules"'],
    ['an unknown class', [{ ...rule, class: 'spam' }], 'rule "ours": class must be one of mailbox, full,'],
    ['an unknown action', [{ ...rule, action: 'drop' }], 'rule "ours": action must be one of retry,'],
    ['an unknown stage', [{ ...rule, stages: ['helo'] }], 'rule "ours": stages must be one of connect,'],
    ['a code that is none', [{ ...rule, codes: ['5.1.1'] }], 'rule "ours": codes must be like 550,'],
    ['an enhanced code that is none', [{ ...rule, enhancedCodes: ['5.*'] }], 'rule "ours": enhancedCodes must be like'],
    ['a back-reference', [{ ...rule, text: '(a)\\1' }], 'rule "ours": error parsing regexp'],
    ['a look-ahead', [{ ...rule, text: '(?=a)' }], 'rule "ours": error parsing regexp'],
    ['an unknown field', [{ ...rule, code: ['550'] }], 'rule "ours": unknown field code'],
    ['an id twice', [rule, rule], 'rule "ours": the id is taken'],
    ['no id', [{ class: 'rate', action: 'retry' }], 'rule 1: id must be'],
    ['no object', [rule, 5], 'rule 2: must be an object'],
    [
      'a suppression for what is not the address’s fault',
      [{ ...rule, action: 'bounce_and_suppress' }],
      'rule "ours": bounce_and_suppress is for class mailbox',
    ],
  ])('are refused for %s', (_name, rules, message) => {
    expect(() => readOwnRules(write(rules))).toThrow(ConfigurationError);
    expect(() => readOwnRules(file)).toThrow(message);
  });

  it('are refused when the file is not there, or is no JSON', () => {
    expect(() => readOwnRules(join(folder, 'none.json'))).toThrow(/CLASSIFICATION_RULES .*none\.json: ENOENT/);
    writeFileSync(file, '{');
    expect(() => readOwnRules(file)).toThrow(/CLASSIFICATION_RULES .*rules\.json/);
  });
});
