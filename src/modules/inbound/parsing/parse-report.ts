import { leavesOf, type MessagePart, splitMessage } from '../../../common/mime/mime-message';
import { decodedBody } from '../../../common/mime/part-text';
import { ANOTHER_PARTY, BUILT_IN_CLASSIFIER, type ReplyClassifier } from '../../../delivery/policy/classify-reply';
import { BOUNCE_PATTERNS, DELAY_PATTERNS, FAILURE_PHRASES, GENERIC_BOUNCE_PATTERNS } from './bounce-patterns';
import { readBareDeliveryStatus, readDeliveryStatus } from './delivery-status';
import { isDispositionNotification, isLoop, isReplyOfMailbox, whyDropped } from './dropped-mail';
import { evaluateFailure, type FailureGrounds, findReply } from './evaluate-failure';
import { readComplaint } from './feedback-report';
import { matchesPattern, type MessagePattern, type MessageView, viewMessage } from './message-view';
import { type IgnoreReason, printable, type Report } from './report';

const STATUS_TYPES = ['message/delivery-status', 'message/global-delivery-status'];

/**
 * Reads a message that came to one of our return paths or to the feedback address: delivery status notifications (RFC 3464, RFC
 * 6533), feedback reports (RFC 5965) and the forms of systems that follow neither. Never throws, and costs a few passes over
 * the bytes whatever they are (`parsing-limits.ts`).
 *
 * Structured parts take precedence over text, and texts that name their system over similar ones.
 *
 * @param raw the message as stored, its first line the `Return-Path:` that the listener added
 */
export function parseReport(raw: Buffer, classifier: ReplyClassifier = BUILT_IN_CLASSIFIER): Report {
  const message = splitMessage(raw);
  if (!message) return ignored('too-complex');
  if (hasNoHeader(message)) return ignored('unreadable');
  if (isLoop(message)) return ignored('loop');
  if (isDispositionNotification(message)) return ignored('mdn');
  return readStatusPart(message, classifier) ?? readWords(message, classifier);
}

function readWords(message: MessagePart, classifier: ReplyClassifier): Report {
  const view = viewMessage(message);
  const report = readComplaint(view) ?? readBareStatus(message, classifier);
  if (report) return report;
  const bounce = isReplyOfMailbox(view) ? undefined : readKnownBounce(view, classifier);
  if (bounce) return bounce;
  const dropped = whyDropped(view);
  return dropped ? ignored(dropped) : (readGenericBounce(view, classifier) ?? ignored(whyUnknown(message)));
}

/** But for the line that the listener added. */
function hasNoHeader({ fields }: MessagePart): boolean {
  return fields.size === fields.all('return-path').length;
}

function readStatusPart(message: MessagePart, classifier: ReplyClassifier): Report | undefined {
  const part = leavesOf(message).find(({ contentType }) => STATUS_TYPES.includes(contentType.type));
  return part && readDeliveryStatus(decodedBody(part), classifier, () => groundsIn(viewMessage(message)));
}

/** A delivery status under a wrong type. Copies of our own mail are not searched. */
function readBareStatus(message: MessagePart, classifier: ReplyClassifier): Report | undefined {
  for (const part of leavesOf(message)) {
    if (/^message\/|^text\/(?:html|rfc822-headers)/.test(part.contentType.type)) continue;
    const report = readBareDeliveryStatus(decodedBody(part), classifier);
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

/** Lines that are read with the one that shows a reply. */
const REPLY_LINES = 10;

/** Reads a failure from the texts of known mail systems; undefined when the message fits none of their patterns. */
export function readKnownBounce(view: MessageView, classifier: ReplyClassifier): Report | undefined {
  return readBounce(view, BOUNCE_PATTERNS, classifier);
}

/** The same for a message that only resembles a failure. */
export function readGenericBounce(view: MessageView, classifier: ReplyClassifier): Report | undefined {
  return readBounce(view, GENERIC_BOUNCE_PATTERNS, classifier);
}

function readBounce(
  view: MessageView,
  patterns: readonly MessagePattern[],
  classifier: ReplyClassifier,
): Report | undefined {
  if (DELAY_PATTERNS.some((pattern) => matchesPattern(pattern, view))) return { kind: 'ignored', reason: 'delay-only' };
  if (!patterns.some((pattern) => matchesPattern(pattern, view))) return undefined;
  const [first, ...others] = view.message.fields.first('x-failed-recipients')?.split(',') ?? [];
  const grounds = { ...groundsIn(view), shared: others.length > 0 };
  return { ...evaluateFailure(grounds, classifier), finalRecipient: printable(first, 320) };
}

/** The cause in a failure's text: a reply first, else a known sentence. Empty without either. */
export function groundsIn(view: MessageView): FailureGrounds {
  const lines = [...view.lines, view.subject];
  return replyIn(lines) ?? phraseIn(lines) ?? lineOfTheTable(lines) ?? {};
}

/** The first line with an SMTP reply, and the lines up to the next empty one, as long replies are broken. */
function replyIn(lines: readonly string[]): FailureGrounds | undefined {
  const at = lines.findIndex((line) => findReply(line) !== undefined);
  if (at === -1) return undefined;
  const context = lines.slice(at, at + REPLY_LINES);
  const empty = context.indexOf('');
  const text = context.slice(0, empty === -1 ? undefined : empty).join(' ');
  return { text: findReply(text)?.text };
}

function phraseIn(lines: readonly string[]): FailureGrounds | undefined {
  const text = lines.join(' ');
  const phrase = FAILURE_PHRASES.find(({ pattern }) => pattern.test(text));
  return phrase && { text: lines.find((line) => phrase.pattern.test(line)), status: phrase.status };
}

/** A cause, and not only the mention of a sender, as in `Undelivered Mail Returned to Sender`. */
function lineOfTheTable(lines: readonly string[]): FailureGrounds | undefined {
  const isKnown = (text: string): boolean => {
    const { reason, ruleId } = BUILT_IN_CLASSIFIER.classify({ phase: 'final', code: 550, text });
    return reason !== 'unclassified' && ruleId !== ANOTHER_PARTY;
  };
  const text = lines.find(isKnown);
  return text === undefined ? undefined : { text };
}
