import { type ReplyAction, type ReplyClass, type ReplyRule, type ReplyStage, stageOfPhase } from './reply-rule';
import { REPLY_RULES, UNREADABLE_REPLY } from './reply-rules';

/** A refusal as the remote side put it. Every field but the code may be missing. */
export interface ReplyToClassify {
  /** As in `SmtpFacts.phase`; unknown or missing counts as before RCPT, the most careful reading. */
  readonly phase: string | undefined;
  readonly code: number | undefined;
  readonly enhancedCode?: string | undefined;
  readonly text?: string | undefined;
  /** Recipients that the reply speaks for; 1 when absent. A reply to several suppresses none of them. */
  readonly recipientCount?: number | undefined;
}

export interface ReplyClassification {
  readonly ruleId: string;
  readonly class: ReplyClass;
  readonly action: ReplyAction;
  /** True when another host of the same destination may reply otherwise: it is tried before the result counts. */
  readonly tryNextHost: boolean;
  /** Present on a 5xx before RCPT: once this many attempts have failed, the retry becomes a soft bounce. */
  readonly maximumRetries?: number;
}

/** Longest text that is read. RFC 5321 allows 512 octets a line, and providers say what matters first. */
const MAXIMUM_TEXT_LENGTH = 500;

/** A 5xx before RCPT is usually one host's or one hour's trouble: three more chances, some 20 minutes. */
const RETRIES_BEFORE_RECIPIENT = 3;

/** Classifies a refusal by the first matching row of the table. Total: every input has a result. */
export function classifyReply(reply: ReplyToClassify): ReplyClassification {
  const stage = stageOfPhase(reply.phase);
  const code = reply.code ?? NaN;
  const text = normalizeText(reply.text ?? '');
  const detail = enhancedDetail(reply.enhancedCode) ?? enhancedDetail(enhancedCodeIn(text));
  const rule = REPLY_RULES.find((candidate) => matches(candidate, code, stage, detail, text)) ?? UNREADABLE_REPLY;
  const found = { ruleId: rule.id, class: rule.class };
  if (stage === 'session') return { ...found, ...beforeRecipient(rule) };
  return { ...found, action: sparing(rule.action, reply.recipientCount ?? 1), tryNextHost: false };
}

function matches(rule: ReplyRule, code: number, stage: ReplyStage, detail: string | undefined, text: string): boolean {
  if (!(code >= rule.codes[0] && code <= rule.codes[1])) return false;
  if (rule.stages !== undefined && !rule.stages.includes(stage)) return false;
  if (rule.enhanced !== undefined && !matchesEnhanced(rule.enhanced, detail)) return false;
  return rule.text === undefined || rule.text.test(text);
}

function matchesEnhanced(patterns: readonly string[], detail: string | undefined): boolean {
  if (detail === undefined) return false;
  const subject = `${detail.slice(0, detail.indexOf('.'))}.*`;
  return patterns.includes(detail) || patterns.includes(subject);
}

/**
 * Before RCPT nothing has been said about the recipient: no bounce at first sight, never a suppression. The message's
 * size is the exception: with SIZE the server refuses it at MAIL (RFC 1870 section 6.1), and trying again changes nothing.
 */
function beforeRecipient(rule: ReplyRule): Pick<ReplyClassification, 'action' | 'tryNextHost' | 'maximumRetries'> {
  if (rule.class === 'too-large') return { action: rule.action, tryNextHost: false };
  switch (rule.action) {
    case 'retry':
    case 'retry-and-throttle-destination':
      return { action: rule.action, tryNextHost: true };
    case 'bounce-hard-suppress':
    case 'bounce-hard':
    case 'bounce-soft': {
      const action = SLOWED_CLASSES.has(rule.class) ? 'retry-and-throttle-destination' : 'retry';
      return { action, tryNextHost: true, maximumRetries: RETRIES_BEFORE_RECIPIENT };
    }
  }
}

/** A server that refuses our traffic as such is not tried at full speed. */
const SLOWED_CLASSES: ReadonlySet<ReplyClass> = new Set<ReplyClass>(['reputation', 'rate-limited']);

function sparing(action: ReplyAction, recipientCount: number): ReplyAction {
  return action === 'bounce-hard-suppress' && recipientCount > 1 ? 'bounce-hard' : action;
}

/** One line of plain spaces and straight apostrophes, so that the rows can be plain words. */
function normalizeText(text: string): string {
  return text.slice(0, MAXIMUM_TEXT_LENGTH).replace(/\s+/g, ' ').replace(/[‘’]/g, "'");
}

/** `5.7.26` → `7.26`. The first digit is left to the reply code (RFC 3463 section 3.1, RFC 5321 section 4.2.1). */
function enhancedDetail(enhancedCode: string | undefined): string | undefined {
  return /^[245]\.(\d{1,3}\.\d{1,3})$/.exec(enhancedCode ?? '')?.[1];
}

/** Codes that the text carries: in front (RFC 2034), the reply code before them or not, or behind a hash as IronPort and qmail write them. */
function enhancedCodeIn(text: string): string | undefined {
  return (
    /^(?:[45]\d\d[ -])? ?#?([45]\.\d{1,3}\.\d{1,3})(?![.\d])/.exec(text)?.[1] ??
    /\(#([45]\.\d\.\d{1,2})\)/.exec(text)?.[1]
  );
}
