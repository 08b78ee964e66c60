import type { SmtpPhase } from '../ports/smtp-phase';
import {
  isBeforeRecipient,
  type ReplyAction,
  type ReplyClass,
  type ReplyRule,
  type ReplyStage,
  stageOf,
} from './reply-rule';
import { REPLY_RULES, UNREADABLE_REPLY } from './reply-rules';

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

export { countsAgainstSender } from './reply-rule';

export interface ReplyClassification {
  readonly ruleId: string;
  readonly class: ReplyClass;
  readonly action: ReplyAction;
  /** True when another host of the same destination may reply otherwise: it is tried before the result counts. */
  readonly tryNextHost: boolean;
  /** Present on a 5xx before RCPT: once this many attempts have failed, the retry becomes a soft bounce. */
  readonly maximumRetries?: number;
}

/** Longest line that is read, and how many lines. RFC 5321 allows 512 octets a line, and providers say what matters first. */
const MAXIMUM_LINE_LENGTH = 500;
const MAXIMUM_LINES = 20;

/** A 5xx before RCPT is usually one host's or one hour's trouble: three more chances, some 20 minutes. */
const RETRIES_BEFORE_RECIPIENT = 3;

/** Classifies a refusal by the first matching row of the table, which reads all lines. Total: every input has a result. */
export function classifyReply(reply: ReplyToClassify): ReplyClassification {
  const read = readReply(reply);
  const rule = REPLY_RULES.find((candidate) => matches(candidate, read)) ?? UNREADABLE_REPLY;
  const found = { ruleId: rule.id, class: rule.class };
  if (isBeforeRecipient(reply.phase)) return { ...found, ...beforeRecipient(rule) };
  return { ...found, action: sparing(rule.action, reply.recipientCount ?? 1), tryNextHost: false };
}

/** What rows look at. */
interface ReadReply {
  readonly code: number;
  readonly stage: ReplyStage;
  /** Subjects and details of all enhanced codes, and each subject as a whole. */
  readonly enhanced: ReadonlySet<string>;
  readonly text: string;
}

function readReply({ phase, code = NaN, enhancedCode, text = [] }: ReplyToClassify): ReadReply {
  const lines = linesOf(text);
  const codes = [enhancedCode, ...lines.map(enhancedCodeIn)].map(enhancedDetail);
  const details = codes.filter((detail) => detail !== undefined);
  const subjects = details.map((detail) => `${detail.slice(0, detail.indexOf('.'))}.*`);
  // A sentence goes on in the next line, and there the code stands again.
  const words = lines.map((line, index) => (index === 0 ? line : line.replace(CODES_IN_FRONT, '')));
  return { code, stage: stageOf(phase), enhanced: new Set([...details, ...subjects]), text: words.join(' ') };
}

function linesOf(text: string | readonly string[]): string[] {
  const lines = typeof text === 'string' ? [text] : text.slice(0, MAXIMUM_LINES);
  return lines.map(normalizeText);
}

function matches(rule: ReplyRule, { code, stage, enhanced, text }: ReadReply): boolean {
  if (!(code >= rule.codes[0] && code <= rule.codes[1])) return false;
  if (rule.stages !== undefined && !rule.stages.includes(stage)) return false;
  if (rule.enhanced !== undefined && !rule.enhanced.some((pattern) => enhanced.has(pattern))) return false;
  return rule.text === undefined || rule.text.test(text);
}

/**
 * Before RCPT nothing has been said about the recipient: no bounce at first sight, never a suppression. The message's
 * size is the exception: with SIZE the server refuses it at MAIL (RFC 1870 section 6.1), and trying again changes nothing.
 */
function beforeRecipient(rule: ReplyRule): Pick<ReplyClassification, 'action' | 'tryNextHost' | 'maximumRetries'> {
  if (rule.class === 'too-large') return { action: rule.action, tryNextHost: false };
  switch (rule.action) {
    case 'retry':
    case 'slow':
    case 'suspend':
      return { action: rule.action, tryNextHost: true };
    case 'bounce-hard-suppress':
    case 'bounce-hard':
    case 'bounce-soft':
      return { action: 'retry', tryNextHost: true, maximumRetries: RETRIES_BEFORE_RECIPIENT };
  }
}

function sparing(action: ReplyAction, recipientCount: number): ReplyAction {
  return action === 'bounce-hard-suppress' && recipientCount > 1 ? 'bounce-hard' : action;
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
