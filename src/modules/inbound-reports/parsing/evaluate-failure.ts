import {
  BUILT_IN_CLASSIFIER,
  countsAgainstSender,
  type ReplyClassifier,
} from '../../../delivery/policy/replies/classify-reply';
import type { SmtpPhase } from '../../../delivery/ports/attempt-trace';
import { printable, type Report } from './report';

/** An SMTP reply as far as a text shows one. */
export interface FoundReply {
  readonly code?: number;
  readonly enhancedCode?: string;
  /** From the reply code on; without one, all of it. */
  readonly text: string;
}

/** `550 5.1.1 …`, `550-5.1.1`, `550 #5.1.1`: unmistakable anywhere. */
const BOTH_CODES = /(?<![\w.-])([45][0-7]\d)[ -]{1,2}(?:smtp; ?)?[#(]{0,2}([45]\.\d{1,3}\.\d{1,3})(?!\d|\.\d)/i;
/** A lone number counts only at the position of a reply: at the start, or after a colon, a bracket, `said`, `error`. */
const CODE_ALONE = /(?:^|[:;#<>"'(=[\]] ?|\bsaid |\berror |\breply |\bcode |\bstatus )[<([]?([45][0-7]\d)[ :-](?!\d)/i;
/** `#5.1.1`, `(5.1.1)`: no address, no version. */
const ENHANCED_ALONE = /(?:^|[\s#(:;<['"])([45]\.[0-7]\.\d{1,3})(?=[\s)>:;,\]#-]|$)/;

/** The first SMTP reply in a text of one line or a few; undefined when it has none. All patterns are linear. */
export function findReply(text: string): FoundReply | undefined {
  const both = BOTH_CODES.exec(text);
  const alone = CODE_ALONE.exec(text);
  const aloneAt = alone?.[1] === undefined ? Infinity : alone.index + alone[0].indexOf(alone[1]);
  if (both) {
    // Lines of the same reply may come before the one with both codes, and name the recipient.
    const start = alone?.[1] === both[1] ? Math.min(aloneAt, both.index) : both.index;
    return { code: Number(both[1]), enhancedCode: both[2], text: text.slice(start) };
  }
  const enhancedCode = ENHANCED_ALONE.exec(text)?.[1];
  if (!alone?.[1]) return enhancedCode === undefined ? undefined : { enhancedCode, text };
  return { code: Number(alone[1]), enhancedCode, text: text.slice(aloneAt) };
}

export type BounceReport = Extract<Report, { kind: 'bounce' }>;

/** What a report gives as the grounds of a failure. */
export interface FailureGrounds {
  /** The words of the remote side, with or without codes in them. */
  readonly text?: string | undefined;
  /** `Status` of a delivery status (RFC 3464 section 2.3.4). */
  readonly status?: string | undefined;
  /** True when other recipients of the same report fared otherwise: then the address itself is not to blame. */
  readonly shared?: boolean;
}

export const MAXIMUM_RESPONSE_LENGTH = 500;
/** A reply of many lines, written as one, is classified by all of them. */
const MAXIMUM_TEXT_LENGTH = 4_000;
/** Where the text does not name the command of the reply. */
const USUAL_PHASE: SmtpPhase = 'rcpt';

/**
 * Reads a failure like the reply that caused it, through the engine's own table: hard and suppressed for what is wrong
 * with the address, soft for full mailboxes, policy and all that a 4xx or a status of class 4 calls temporary.
 */
export function evaluateFailure(
  grounds: FailureGrounds,
  classifier: ReplyClassifier = BUILT_IN_CLASSIFIER,
): BounceReport {
  const reply = findReply(grounds.text ?? '');
  const enhancedCode = enhancedCodeOf(reply, grounds.status);
  const {
    action,
    bounceType,
    reason,
    ruleId,
    explanation,
    class: kind,
  } = classifier.classify({
    ...codeAndPhase(reply, grounds),
    enhancedCode,
    text: linesOf(printable(reply?.text ?? grounds.text, MAXIMUM_TEXT_LENGTH) ?? '', reply?.code),
    recipientCount: grounds.shared ? 2 : 1,
  });
  return {
    kind: 'bounce',
    action: 'failed',
    bounceType: action.startsWith('bounce') ? bounceType : 'soft',
    suppress: action === 'bounce_and_suppress',
    reason,
    class: kind,
    ruleId,
    explanation,
    countsAgainstSender: countsAgainstSender(reason),
    code: reply?.code,
    enhancedCode,
    response: printable(grounds.text, MAXIMUM_RESPONSE_LENGTH),
  };
}

/** The remote side's own code before the reporter's, and a specific one before both. */
function enhancedCodeOf(reply: FoundReply | undefined, status: string | undefined): string | undefined {
  const codes = [reply?.enhancedCode, status].filter((code) => code !== undefined);
  return codes.find((code) => !code.endsWith('.0.0')) ?? codes[0];
}

/** `550-one 550 two` → the lines that the reply had. */
function linesOf(text: string, code: number | undefined): string[] {
  return code === undefined ? [text] : text.split(new RegExp(` (?=${code}[ -])`));
}

/** Without any code only the words count, and the most careful stage that can bounce at all. */
function codeAndPhase(
  reply: FoundReply | undefined,
  { text = '', status }: FailureGrounds,
): { code: number; phase: SmtpPhase } {
  if (status?.startsWith('4')) return { code: 450, phase: USUAL_PHASE };
  const code = reply?.code ?? codeOfStatus(reply?.enhancedCode ?? status);
  return code === undefined ? { code: 550, phase: 'final' } : { code, phase: phaseNamedIn(text) };
}

function codeOfStatus(status: string | undefined): number | undefined {
  if (status === undefined) return undefined;
  return status.startsWith('4') ? 450 : 550;
}

/** Postfix and Exim name the command of the reply. Before RCPT it is not about the recipient. */
function phaseNamedIn(text: string): SmtpPhase {
  if (/end of data|data command|after end of data/i.test(text)) return 'final';
  return /reply to (?:mail from|helo|ehlo|starttls)|after (?:mail from|ehlo|helo)|initial connection/i.test(text)
    ? 'mail'
    : USUAL_PHASE;
}
