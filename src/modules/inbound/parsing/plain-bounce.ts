import { BUILT_IN_CLASSIFIER, type ReplyClassifier } from '../../../delivery/policy/classify-reply';
import { evaluateFailure, type FailureGrounds, findReply } from './evaluate-failure';
import { printable, type Report } from './report';
import { BOUNCE_PATTERNS, DELAY_PATTERNS, FAILURE_PHRASES, GENERIC_BOUNCE_PATTERNS } from './bounce-patterns';
import { matchesPattern, type MessageView, type MessagePattern } from './message-view';

/** Lines that are read with the one that shows a reply. */
const REPLY_LINES = 10;

/** Reads a failure in the words of the known mail systems; undefined when the message fits none of their patterns. */
export function readKnownBounce(view: MessageView, classifier: ReplyClassifier): Report | undefined {
  return readBounce(view, BOUNCE_PATTERNS, classifier);
}

/** The same for a message that only looks like a failure. */
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
  const finalRecipient = printable(view.message.fields.first('x-failed-recipients')?.split(',', 1)[0], 320);
  return { ...evaluateFailure(groundsIn(view), classifier), finalRecipient };
}

/** What the words of a failure give as its grounds: a reply first, else a known sentence. Empty when neither is there. */
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

function lineOfTheTable(lines: readonly string[]): FailureGrounds | undefined {
  const isKnown = (text: string): boolean =>
    BUILT_IN_CLASSIFIER.classify({ phase: 'final', code: 550, text }).reason !== 'unclassified';
  const text = lines.find(isKnown);
  return text === undefined ? undefined : { text };
}
