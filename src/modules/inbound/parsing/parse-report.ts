import { BUILT_IN_CLASSIFIER, type ReplyClassifier } from '../../../delivery/policy/classify-reply';
import { readBareDeliveryStatus, readDeliveryStatus } from './delivery-status';
import { isDispositionNotification, isLoop, whyDropped } from './dropped-mail';
import { readComplaint } from './feedback-report';
import { leavesOf, splitMessage, type MessagePart } from '../../../common/mime/mime-message';
import { decodedBody } from '../../../common/mime/part-text';
import { groundsIn, readGenericBounce, readKnownBounce } from './plain-bounce';
import type { IgnoreReason, Report } from './report';
import { viewMessage } from './message-view';

const STATUS_TYPES = ['message/delivery-status', 'message/global-delivery-status'];

/**
 * Reads a message that came to one of our return paths or to the feedback address: delivery status notifications
 * (RFC 3464, RFC 6533), feedback reports (RFC 5965) and the forms of systems that follow neither. Never throws, and
 * costs a few passes over the bytes whatever they are (`parsing-limits.ts`).
 *
 * What is structured is believed before what is worded, and what names its system before what only looks like it.
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
  const report = readComplaint(view) ?? readBareStatus(message, classifier) ?? readKnownBounce(view, classifier);
  if (report) return report;
  const dropped = whyDropped(view);
  if (dropped) return ignored(dropped);
  return readGenericBounce(view, classifier) ?? ignored(announcesStatus(message) ? 'unreadable' : 'not-a-report');
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

function announcesStatus(message: MessagePart): boolean {
  return message.contentType.type === 'multipart/report';
}

function ignored(reason: IgnoreReason): Report {
  return { kind: 'ignored', reason };
}
