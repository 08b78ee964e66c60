import { classifyReply } from '../../../delivery/policy/classify-reply';
import { findReply } from './find-reply';
import { judgeFailure, type FailureGrounds } from './judge-failure';
import { printable } from './printable';
import type { Report } from './report';
import { BOUNCE_SIGNS, DELAY_SIGNS, GENERIC_BOUNCE_SIGNS } from './signs/bounce-signs';
import { FAILURE_PHRASES } from './signs/failure-phrases';
import { matchesSign, type MessageView, type Sign } from './signs/message-view';

/** Lines that are read with the one that shows a reply. */
const REPLY_LINES = 4;

/** Reads a failure in the words of the known mail systems; undefined when the message shows none of their signs. */
export function readKnownBounce(view: MessageView): Report | undefined {
  return readBounce(view, BOUNCE_SIGNS);
}

/** The same for a message that only looks like a failure. */
export function readGenericBounce(view: MessageView): Report | undefined {
  return readBounce(view, GENERIC_BOUNCE_SIGNS);
}

function readBounce(view: MessageView, signs: readonly Sign[]): Report | undefined {
  if (DELAY_SIGNS.some((sign) => matchesSign(sign, view))) return { kind: 'ignored', reason: 'delay-only' };
  if (!signs.some((sign) => matchesSign(sign, view))) return undefined;
  const finalRecipient = printable(view.message.fields.first('x-failed-recipients')?.split(',', 1)[0], 320);
  return { ...judgeFailure(groundsIn(view)), finalRecipient };
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
  const text = lines.find((line) => classifyReply({ phase: 'dot', code: 550, text: line }).class !== 'unclassified');
  return text === undefined ? undefined : { text };
}
