import type { SmtpPhase } from '../../ports/attempt-trace';
import { type ReplyStage, stageOf } from './reply-rule';

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

/** Longest line that is read, and how many lines. RFC 5321 allows 512 octets a line, and providers put the cause first. */
const MAXIMUM_LINE_LENGTH = 500;
const MAXIMUM_LINES = 20;
/** Of all lines together, the first and the last: real replies have a tenth of it. */
const MAXIMUM_TEXT_LENGTH = 4_000;

/** The input that rows match. */
export interface ReadReply {
  /** Digits, or nothing that matches. */
  readonly code: string;
  readonly stage: ReplyStage;
  /** Subjects and details of all enhanced codes, and each subject as a whole. */
  readonly enhanced: ReadonlySet<string>;
  /** A 5xx whose enhanced codes all say that it is temporary (RFC 3463 section 2), as in `550 4.2.1`: it speaks for no suppression. */
  readonly isContradictory: boolean;
  readonly text: string;
  /** Without addresses and names of domains, whose words mean nothing, so that `User (ann@example.com) unknown` is `User unknown`. */
  readonly words: string;
}

/** Reads what the rules go by. Total: every input has a result. */
export function readReply({ phase, code, enhancedCode, text = [] }: ReplyToClassify): ReadReply {
  const lines = linesOf(text);
  const codes = [enhancedCode, ...lines.map(enhancedCodeIn)].filter((found) => found !== undefined);
  const details = codes.map(enhancedDetail).filter((detail) => detail !== undefined);
  const subjects = details.map((detail) => `${detail.slice(0, detail.indexOf('.'))}.*`);
  const whole = joined(lines);
  return {
    code: Number.isInteger(code) ? String(code) : '',
    stage: stageOf(phase),
    enhanced: new Set([...details, ...subjects]),
    isContradictory: codes.length > 0 && codes.every((found) => found.startsWith('4')) && String(code).startsWith('5'),
    text: whole,
    words: wordsOf(whole),
  };
}

/** As replies quote it. A word of 64 characters at most precedes the `@`, so that no text takes more than linear time. */
const ADDRESS = /[\w.!#$%&'*+/=?^`{|}~-]{1,64}@(?:\[[\w.:]+\]|[\w.-]+)/g;

/** What stood around an address. */
const EMPTY_BRACKETS = /<\s{0,2}>|\(\s{0,2}\)|\[\s{0,2}\]|"\s{0,2}"/g;

/** `Sender domain example.org is blacklisted`: without the name, the words stand together. */
const NAMED_DOMAIN = /\bdomain [\w-]{1,63}(?:\.[\w-]{1,63}){1,9}(?![\w-])/gi;

function wordsOf(text: string): string {
  const plain = text.replace(ADDRESS, '').replace(EMPTY_BRACKETS, '');
  return plain.replace(NAMED_DOMAIN, 'domain').replace(/ {2,}/g, ' ');
}

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

/** A line of plain spaces and straight apostrophes, so that the rows can be plain words. */
function normalizeText(text: string): string {
  return text.slice(0, MAXIMUM_LINE_LENGTH).replace(/\s+/g, ' ').replace(/[‘’]/g, "'");
}

/** `5.7.26` → `7.26`. The first digit is left to the reply code (RFC 3463 section 3.1, RFC 5321 section 4.2.1). */
function enhancedDetail(enhancedCode: string): string | undefined {
  return /^[245]\.(\d{1,3}\.\d{1,3})$/.exec(enhancedCode)?.[1];
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
