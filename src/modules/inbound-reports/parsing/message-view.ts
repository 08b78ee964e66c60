import { decodeField, textOf } from '../../../common/mime/part-text';
import { leavesOf, type MessagePart } from '../../../common/mime/mime-message';
import { PARSING_LIMITS } from './report';

/** A message as a person would see it. */
export interface MessageView {
  readonly message: MessagePart;
  readonly from: string;
  readonly subject: string;
  /** The first text, up to the copy of our own mail: its lines, trimmed. */
  readonly lines: readonly string[];
  /** The lines as one text, joined with spaces, so that phrases may break over lines. */
  readonly text: string;
}

/** A row of a table of patterns: it fits a message when every condition that it states holds. */
export interface MessagePattern {
  /** The system that writes so. */
  readonly id: string;
  readonly header?: string;
  /** Alternatives of plain words only, as in the table of replies: a repetition could take more than linear time. */
  readonly from?: RegExp;
  readonly subject?: RegExp;
  readonly text?: RegExp;
}

/** Lines that announce a copy of our own mail: text below them is not the reporter's. */
const COPY_FOLLOWS =
  /^(?:[-=_* #>|]{0,80})(?:below this line is a copy|this is a copy of|here is a copy of the message|original message|returned message|the header of the original|message header follows|unsent message|message from you follows|message headers follow|original mail follows|text of your message follows|begin forwarded message|copy of (?:your|the original) message|ursprüngliche nachricht|message original|mensaje original)/i;

/** A message with its fields and the first text that a person would read. */
export function viewMessage(message: MessagePart): MessageView {
  const leaves = leavesOf(message);
  const part =
    leaves.find((leaf) => leaf.contentType.type === 'text/plain' && leaf.body.trim() !== '') ??
    leaves.find((leaf) => leaf.contentType.type.startsWith('text/')) ??
    leaves.find((leaf) => leaf.contentType.type.startsWith('multipart/'));
  const lines = part ? reportersLines(textOf(part)) : [];
  return {
    message,
    from: decodeField(message.fields.first('from') ?? ''),
    subject: decodeField(message.fields.first('subject') ?? ''),
    lines,
    text: lines.join(' '),
  };
}

/** Whether all parts of a pattern match. */
export function matchesPattern(pattern: MessagePattern, view: MessageView): boolean {
  return (
    (pattern.header === undefined || view.message.fields.has(pattern.header)) &&
    (pattern.from === undefined || pattern.from.test(view.from)) &&
    (pattern.subject === undefined || pattern.subject.test(view.subject)) &&
    (pattern.text === undefined || pattern.text.test(view.text))
  );
}

function reportersLines(text: string): string[] {
  const lines = text
    .split('\n', PARSING_LIMITS.textLines)
    .map((line) => line.slice(0, PARSING_LIMITS.lineLength).replace(/[’‘]/g, "'").trim());
  const copy = lines.findIndex((line) => COPY_FOLLOWS.test(line));
  return copy === -1 ? lines : lines.slice(0, copy);
}
