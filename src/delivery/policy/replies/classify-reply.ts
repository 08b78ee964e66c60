import { type ReadReply, readReply, type ReplyToClassify } from './read-reply';
import { isBeforeRecipient, type ReplyAction, type ReplyClass, type ReplyReason, type ReplyRule } from './reply-rule';
import { readOwnRules, REPLY_RULES, UNREADABLE_REPLY } from './reply-rules';

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
    if (rule.action === 'bounce_and_suppress' && read.isContradictory && !rule.isOwn) {
      return { ...found, bounceType: 'soft', action: 'bounce', tryNextHost: false };
    }
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

/** The rule of replies that speak of the sender, a machine or something else. */
export const ANOTHER_PARTY = 'another-party';

/** With the built-in rules alone. */
export const BUILT_IN_CLASSIFIER = new ReplyClassifier();

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
