import { type Steps, stepsAtOnce, stepsInTurns } from '../../../common/async/steps';
import { leavesOf, type MessagePart, splitMessage } from '../../../common/mime/mime-message';
import { decodedBody } from '../../../common/mime/part-text';
import {
  ANOTHER_PARTY,
  BUILT_IN_CLASSIFIER,
  type ReplyClassifier,
} from '../../../delivery/policy/replies/classify-reply';
import { BOUNCE_PATTERNS, DELAY_PATTERNS, FAILURE_PHRASES, GENERIC_BOUNCE_PATTERNS } from './bounce-patterns';
import { readBareDeliveryStatus, readDeliveryStatus } from './delivery-status';
import { isDispositionNotification, isLoop, isReplyOfMailbox, whyDropped } from './dropped-mail';
import { type BounceReport, evaluateFailure, type FailureGrounds, findReply } from './evaluate-failure';
import { readComplaint } from './feedback-report';
import { matchesPattern, type MessagePattern, type MessageView, viewMessage } from './message-view';
import { type IgnoreReason, printable, type Report } from './report';

const STATUS_TYPES = ['message/delivery-status', 'message/global-delivery-status'];

/** Whose turns of the event loop reports are read in. */
const HOLDER = 'reports';

/**
 * Reads a message that came to one of our return paths or to the feedback address: delivery status notifications (RFC 3464, RFC
 * 6533), feedback reports (RFC 5965) and the forms of systems that follow neither. Never throws, and costs a few passes over
 * the bytes whatever they are (`PARSING_LIMITS`).
 *
 * Structured parts take precedence over text, and texts that name their system over similar ones.
 *
 * @param raw the message as stored, its first line the `Return-Path:` that the listener added
 */
export function parseReport(raw: Buffer, classifier: ReplyClassifier = BUILT_IN_CLASSIFIER): Report {
  return stepsAtOnce(readReport(raw, classifier));
}

/** The same in turns of the event loop: the first report of a process, for which patterns are compiled, took 90 ms of one. */
export function parseReportInTurns(raw: Buffer, classifier: ReplyClassifier): Promise<Report> {
  return stepsInTurns(readReport(raw, classifier), HOLDER);
}

function* readReport(raw: Buffer, classifier: ReplyClassifier): Steps<Report> {
  const message = splitMessage(raw);
  if (!message) return ignored('too-complex');
  if (hasNoHeader(message)) return ignored('unreadable');
  if (isLoop(message)) return ignored('loop');
  if (isDispositionNotification(message)) return ignored('mdn');
  yield;
  return (yield* readStatusPart(message, classifier)) ?? (yield* readWords(message, classifier));
}

function* readWords(message: MessagePart, classifier: ReplyClassifier): Steps<Report> {
  const view = viewMessage(message);
  yield;
  const report = readComplaint(view) ?? (yield* readBareStatus(message, classifier));
  if (report) return report;
  yield;
  const bounce = isReplyOfMailbox(view) ? undefined : yield* readBounce(view, BOUNCE_PATTERNS, classifier);
  if (bounce) return bounce;
  yield;
  const dropped = whyDropped(view);
  if (dropped) return ignored(dropped);
  return (yield* readBounce(view, GENERIC_BOUNCE_PATTERNS, classifier)) ?? ignored(whyUnknown(message));
}

/** But for the line that the listener added. */
function hasNoHeader({ fields }: MessagePart): boolean {
  return fields.size === fields.all('return-path').length;
}

function* readStatusPart(message: MessagePart, classifier: ReplyClassifier): Steps<Report | undefined> {
  const part = leavesOf(message).find(({ contentType }) => STATUS_TYPES.includes(contentType.type));
  if (!part) return undefined;
  const report = yield* readDeliveryStatus(decodedBody(part), classifier, () => groundsIn(viewMessage(message)));
  return report?.kind === 'bounce' ? withFailedMember(report, message) : report;
}

/**
 * Exim's `Final-Recipient` is the address that it was given, also where that leads to another one that failed: only the header names
 * that one.
 */
function withFailedMember(report: BounceReport, message: MessagePart): BounceReport {
  const { finalRecipient, originalRecipient } = report;
  const failed = failedRecipients(message);
  const isOwn = failed.some((address) => address.toLowerCase() === finalRecipient?.toLowerCase());
  if (originalRecipient !== undefined || failed.length === 0 || isOwn) return report;
  return { ...report, finalRecipient: printable(failed[0], 320), originalRecipient: finalRecipient };
}

function failedRecipients({ fields }: MessagePart): string[] {
  const names = fields.first('x-failed-recipients')?.split(',') ?? [];
  return names.map((name) => name.trim()).filter((name) => name !== '');
}

/** A delivery status under a wrong type. Copies of our own mail are not searched. */
function* readBareStatus(message: MessagePart, classifier: ReplyClassifier): Steps<Report | undefined> {
  for (const part of leavesOf(message)) {
    if (/^message\/|^text\/(?:html|rfc822-headers)/.test(part.contentType.type)) continue;
    yield;
    const report = yield* readBareDeliveryStatus(decodedBody(part), classifier);
    if (report) return report;
  }
  return undefined;
}

function whyUnknown({ contentType }: MessagePart): IgnoreReason {
  return contentType.type === 'multipart/report' ? 'unreadable' : 'not-a-report';
}

function ignored(reason: IgnoreReason): Report {
  return { kind: 'ignored', reason };
}

const GENERATED_FROM = /^\((?:ultimately )?generated from ([^\s()]{3,320})\)$/;

/** Lines that are read with the one that shows a reply. */
const REPLY_LINES = 10;

/** Reads a failure from the texts of mail systems; undefined when the message fits none of the patterns. */
function* readBounce(
  view: MessageView,
  patterns: readonly MessagePattern[],
  classifier: ReplyClassifier,
): Steps<Report | undefined> {
  const fits = (pattern: MessagePattern) => matchesPattern(pattern, view);
  if (yield* firstOf(DELAY_PATTERNS, fits)) return ignored('delay-only');
  if (!(yield* firstOf(patterns, fits))) return undefined;
  const [first, ...others] = failedRecipients(view.message);
  const grounds = { ...(yield* groundsIn(view)), shared: others.length > 0 };
  const addresses = { finalRecipient: printable(first, 320), originalRecipient: expandedAddress(view) };
  return { ...evaluateFailure(grounds, classifier), ...addresses };
}

/** Exim names the address that it was given below the one that this led to. */
function expandedAddress({ lines }: MessageView): string | undefined {
  const found = lines.map((line) => GENERATED_FROM.exec(line)?.[1]).find((address) => address !== undefined);
  return printable(found, 320);
}

/** The cause in a failure's text: a reply first, else a known sentence. Empty without either. */
function* groundsIn(view: MessageView): Steps<FailureGrounds> {
  const lines = [...view.lines, view.subject];
  return (yield* replyIn(lines)) ?? (yield* phraseIn(lines)) ?? (yield* lineOfTheTable(lines)) ?? {};
}

/** The first that passes, one in a step. */
function* firstOf<T>(candidates: readonly T[], passes: (candidate: T) => boolean): Steps<T | undefined> {
  for (const candidate of candidates) {
    yield;
    if (passes(candidate)) return candidate;
  }
  return undefined;
}

/** The first line with an SMTP reply, and the lines up to the next empty one, as long replies are broken. */
function* replyIn(lines: readonly string[]): Steps<FailureGrounds | undefined> {
  const found = yield* firstOf(lines, (line) => findReply(line) !== undefined);
  if (found === undefined) return undefined;
  const at = lines.indexOf(found);
  const context = lines.slice(at, at + REPLY_LINES);
  const empty = context.indexOf('');
  const text = context.slice(0, empty === -1 ? undefined : empty).join(' ');
  return { text: findReply(text)?.text };
}

function* phraseIn(lines: readonly string[]): Steps<FailureGrounds | undefined> {
  const text = lines.join(' ');
  const phrase = yield* firstOf(FAILURE_PHRASES, ({ pattern }) => pattern.test(text));
  return phrase && { text: lines.find((line) => phrase.pattern.test(line)), status: phrase.status };
}

/** A cause, and not only the mention of a sender, as in `Undelivered Mail Returned to Sender`. */
function* lineOfTheTable(lines: readonly string[]): Steps<FailureGrounds | undefined> {
  const isKnown = (text: string): boolean => {
    const { reason, ruleId } = BUILT_IN_CLASSIFIER.classify({ phase: 'final', code: 550, text });
    return reason !== 'unclassified' && ruleId !== ANOTHER_PARTY;
  };
  const text = yield* firstOf(lines, isKnown);
  return text === undefined ? undefined : { text };
}
