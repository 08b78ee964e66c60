import type { SmtpPhase } from '../ports/attempt-trace';
import {
  isBeforeRecipient,
  type ReplyAction,
  type ReplyClass,
  type ReplyReason,
  type ReplyRule,
  type ReplyStage,
  stageOf,
} from './reply-rule';
import { readOwnRules, REPLY_RULES, UNREADABLE_REPLY } from './reply-rules';

/** A refusal as the remote side put it. Every field but the code may be missing. */
export interface ReplyToClassify {
  /** Missing counts as before RCPT, the most careful reading. */
  readonly phase: SmtpPhase | undefined;
  readonly code: number | undefined;
  readonly enhancedCode?: string | undefined;
  /** All lines, with their reply codes or without. */
  readonly text?: string | readonly string[] | undefined;
  /** Recipients that the reply speaks for; 1 when absent. A reply to several suppresses none of them. */
  readonly recipientCount?: number | undefined;
}

export { countsAgainstSender, REPLY_ACTIONS, REPLY_CLASSES } from './reply-rule';

export interface ReplyClassification {
  readonly ruleId: string;
  readonly class: ReplyClass;
  readonly reason: ReplyReason;
  readonly action: ReplyAction;
  /** What the reply counts as if it is a bounce, or becomes one. */
  readonly bounceType: 'hard' | 'soft';
  readonly explanation?: string | undefined;
  readonly source?: string | undefined;
  /** True when another host of the same destination may reply otherwise: it is tried before the result counts. */
  readonly tryNextHost: boolean;
  /** Present on a 5xx before RCPT: once this many attempts have failed, the retry becomes a soft bounce. */
  readonly maximumRetries?: number;
}

/** Longest line that is read, and how many lines. RFC 5321 allows 512 octets a line, and providers put the cause first. */
const MAXIMUM_LINE_LENGTH = 500;
const MAXIMUM_LINES = 20;
/** Of all lines together, the first and the last: real replies have a tenth of it. */
const MAXIMUM_TEXT_LENGTH = 4_000;

/** A 5xx before RCPT is usually one host's or one hour's trouble: three more chances, some 20 minutes. */
const RETRIES_BEFORE_RECIPIENT = 3;

/** Classifies refusals by the first matching rule, the operator's own before the built-in ones. */
export class ReplyClassifier {
  private readonly rules: readonly ReplyRule[];

  constructor(own: readonly ReplyRule[] = []) {
    this.rules = [...own, ...REPLY_RULES];
  }

  /** Reads all lines. Total: every input has a result. */
  classify(reply: ReplyToClassify): ReplyClassification {
    const read = readReply(reply);
    const rule = this.rules.find((candidate) => matches(candidate, read)) ?? UNREADABLE_REPLY;
    const { id: ruleId, class: kind, reason, bounceType, explanation, source } = rule;
    const found = { ruleId, class: kind, reason, bounceType, explanation, source };
    if (isBeforeRecipient(reply.phase)) return { ...found, ...beforeRecipient(rule) };
    return { ...found, action: sparing(rule.action, reply.recipientCount ?? 1), tryNextHost: false };
  }
}

/**
 * @param file the operator's own rules (`CLASSIFICATION_RULES`); undefined or empty: the built-in ones only
 * @throws ConfigurationError that names the rule that is wrong
 */
export function classifierOf(file: string | undefined): ReplyClassifier {
  return new ReplyClassifier(file ? readOwnRules(file) : []);
}

/** With the built-in rules alone. */
export const BUILT_IN_CLASSIFIER = new ReplyClassifier();

/** The input that rows match. */
interface ReadReply {
  /** Digits, or nothing that matches. */
  readonly code: string;
  readonly stage: ReplyStage;
  /** Subjects and details of all enhanced codes, and each subject as a whole. */
  readonly enhanced: ReadonlySet<string>;
  readonly text: string;
  /** Without addresses, whose words mean nothing: for the built-in rules. */
  readonly words: string;
}

function readReply({ phase, code, enhancedCode, text = [] }: ReplyToClassify): ReadReply {
  const lines = linesOf(text);
  const codes = [enhancedCode, ...lines.map(enhancedCodeIn)].map(enhancedDetail);
  const details = codes.filter((detail) => detail !== undefined);
  const subjects = details.map((detail) => `${detail.slice(0, detail.indexOf('.'))}.*`);
  const whole = joined(lines);
  return {
    code: Number.isInteger(code) ? String(code) : '',
    stage: stageOf(phase),
    enhanced: new Set([...details, ...subjects]),
    text: whole,
    words: whole.replace(ADDRESS, ''),
  };
}

/** As replies quote it. A word of 64 characters at most precedes the `@`, so that no text takes more than linear time. */
const ADDRESS = /[\w.!#$%&'*+/=?^`{|}~-]{1,64}@[\w.[\]:-]+/g;

/** A sentence continues in the next line, after the repeated code. */
function joined(lines: readonly string[]): string {
  const words = lines.map((line, index) => (index === 0 ? line : line.replace(CODES_IN_FRONT, ''))).join(' ');
  if (words.length <= MAXIMUM_TEXT_LENGTH) return words;
  return `${words.slice(0, MAXIMUM_TEXT_LENGTH - MAXIMUM_LINE_LENGTH)} ${words.slice(-MAXIMUM_LINE_LENGTH)}`;
}

function linesOf(text: string | readonly string[]): string[] {
  const lines = typeof text === 'string' ? [text] : text.slice(0, MAXIMUM_LINES);
  return lines.map(normalizeText);
}

function matches(rule: ReplyRule, { code, stage, enhanced, text, words }: ReadReply): boolean {
  if (!rule.codes.some((pattern) => matchesCode(pattern, code))) return false;
  if (rule.stages !== undefined && !rule.stages.includes(stage)) return false;
  if (rule.enhanced !== undefined && !rule.enhanced.some((pattern) => enhanced.has(pattern))) return false;
  return rule.matchesText === undefined || rule.matchesText(rule.isOwn ? text : words);
}

/** `55x` is 550 to 559. */
function matchesCode(pattern: string, code: string): boolean {
  return pattern.length === code.length && [...pattern].every((digit, at) => digit === 'x' || digit === code[at]);
}

/**
 * Before RCPT the reply is not about the recipient: no bounce at first, never a suppression. The message's size is the
 * exception: with SIZE the server refuses it at MAIL (RFC 1870 section 6.1), and a retry changes nothing. An operator's rule
 * that names the stage is another.
 */
function beforeRecipient(rule: ReplyRule): Pick<ReplyClassification, 'action' | 'tryNextHost' | 'maximumRetries'> {
  const isMeant = rule.isOwn && rule.stages !== undefined;
  switch (rule.action) {
    case 'retry':
    case 'slow':
    case 'suspend':
      return { action: rule.action, tryNextHost: rule.class !== 'size' };
    case 'bounce':
    case 'bounce_and_suppress':
      if (rule.class === 'size' || isMeant) return { action: 'bounce', tryNextHost: false };
      return { action: 'retry', tryNextHost: true, maximumRetries: RETRIES_BEFORE_RECIPIENT };
  }
}

function sparing(action: ReplyAction, recipientCount: number): ReplyAction {
  return action === 'bounce_and_suppress' && recipientCount > 1 ? 'bounce' : action;
}

/** A line of plain spaces and straight apostrophes, so that the rows can be plain words. */
function normalizeText(text: string): string {
  return text.slice(0, MAXIMUM_LINE_LENGTH).replace(/\s+/g, ' ').replace(/[‘’]/g, "'");
}

/** `5.7.26` → `7.26`. The first digit is left to the reply code (RFC 3463 section 3.1, RFC 5321 section 4.2.1). */
function enhancedDetail(enhancedCode: string | undefined): string | undefined {
  return /^[245]\.(\d{1,3}\.\d{1,3})$/.exec(enhancedCode ?? '')?.[1];
}

/** Reply code and enhanced code of a line, as they stand in front. */
const CODES_IN_FRONT = /^(?:[45]\d\d[ -])? ?(?:[45]\.\d{1,3}\.\d{1,3} )?/;

/** Codes that the text carries: in front (RFC 2034), the reply code before them or not, or behind a hash as IronPort and qmail write them. */
function enhancedCodeIn(text: string): string | undefined {
  return (
    /^(?:[45]\d\d[ -])? ?#?([45]\.\d{1,3}\.\d{1,3})(?![.\d])/.exec(text)?.[1] ??
    /\(#([45]\.\d\.\d{1,2})\)/.exec(text)?.[1]
  );
}
