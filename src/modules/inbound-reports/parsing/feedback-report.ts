import { matchesPattern, type MessageView, type MessagePattern } from './message-view';
import {
  HeaderFields,
  leavesOf,
  type MessagePart,
  readHeader,
  readMessageHeader,
} from '../../../common/mime/mime-message';
import { decodedBody } from '../../../common/mime/part-text';
import { type OriginalMessage, printable, type Report, PARSING_LIMITS } from './report';

/** Complaints from before ARF: a plain mail with ours attached. */
export const COMPLAINT_PATTERNS: readonly (MessagePattern & { readonly feedbackType: string })[] = [
  { id: 'hotmail', subject: /complaint about message from/i, feedbackType: 'abuse' },
  { id: 'aol', subject: /email feedback report for ip|client tos notification/i, feedbackType: 'abuse' },
  { id: 'yahoo', from: /feedback@arf\./i, feedbackType: 'abuse' },
  { id: 'opt-out', subject: /opt-out request|optout request|unsubscribe complaint/i, feedbackType: 'opt-out' },
];

/** RFC 5965 section 7.3 and the types that providers add; any other counts as `other`, as section 3.1 requires. */
const COMPLAINT_TYPES = ['abuse', 'fraud', 'virus', 'other', 'opt-out', 'opt-out-list', 'miscategorized'];
/** Reports on our authentication (RFC 6591) and withdrawals are no complaints. */
const NO_COMPLAINTS = ['not-spam', 'auth-failure', 'dkim'];
const ORIGINAL_TYPES = ['message/rfc822', 'message/global', 'text/rfc822-headers', 'message/global-headers'];
/** The start of a report that lost its own part. */
const BARE_REPORT = /^feedback-type[ \t]{0,5}:/im;

const HOTMAIL_RECIPIENT = 'x-hmxmroriginalrecipient';

interface Attached {
  /** Without transfer encoding, one character a byte. */
  readonly content: string;
  readonly fields: HeaderFields;
  readonly hasBody: boolean;
}

/** Reads a complaint: ARF (RFC 5965), or one of the older forms; undefined when the message is none. */
export function readComplaint(view: MessageView): Report | undefined {
  const leaves = leavesOf(view.message);
  const machinePart = leaves.find((part) => part.contentType.type === 'message/feedback-report') ?? bareReport(leaves);
  const attached = leaves
    .filter((part) => ORIGINAL_TYPES.includes(part.contentType.type))
    .slice(0, 1)
    .map(open)[0];
  return machinePart ? readFeedback(machinePart, attached) : attached && readOldForm(view, attached);
}

function readOldForm(view: MessageView, attached: Attached): Report | undefined {
  const { fields } = view.message;
  const pattern = COMPLAINT_PATTERNS.find((candidate) => matchesPattern(candidate, view));
  if (!pattern && !attached.fields.has(HOTMAIL_RECIPIENT) && !fields.has(HOTMAIL_RECIPIENT)) return undefined;
  return {
    kind: 'complaint',
    feedbackType: pattern?.feedbackType ?? 'abuse',
    reportingSystem: pattern?.id ?? 'hotmail',
    original: originalOf(attached, fields),
  };
}

function open(part: MessagePart): Attached {
  const content = decodedBody(part, PARSING_LIMITS.messageLength);
  return { content, fields: readMessageHeader(content).fields, hasBody: !part.contentType.type.endsWith('headers') };
}

function bareReport(leaves: readonly MessagePart[]): MessagePart | undefined {
  return leaves.find(
    ({ contentType, body }) =>
      /^(?:text\/plain|application\/octet-stream)$/.test(contentType.type) && BARE_REPORT.test(body.slice(0, 2000)),
  );
}

function readFeedback(machinePart: MessagePart, attached: Attached | undefined): Report {
  const text = decodedBody(machinePart);
  const { fields } = readHeader(text.slice(Math.max(0, text.search(/\S/))));
  const type = fields.first('feedback-type')?.toLowerCase() ?? 'other';
  if (NO_COMPLAINTS.includes(type)) return { kind: 'ignored', reason: 'not-a-report' };
  return {
    kind: 'complaint',
    feedbackType: COMPLAINT_TYPES.includes(type) ? type : 'other',
    reportingSystem: printable(fields.first('user-agent'), 100),
    original: originalOf(attached, fields),
  };
}

function originalOf(attached: Attached | undefined, envelope: HeaderFields): OriginalMessage {
  const fields = attached?.fields ?? new HeaderFields([]);
  return {
    raw: attached && Buffer.from(attached.content, 'latin1'),
    hasBody: attached?.hasBody ?? false,
    originalMailFrom: addressIn(envelope.first('original-mail-from')),
    returnPath: addressIn(fields.first('return-path')),
    messageId: printable(fields.first('message-id'), 500),
    listUnsubscribe: printable(fields.first('list-unsubscribe'), PARSING_LIMITS.lineLength),
  };
}

/** `<ann@example.com>`, `rfc822;ann@example.com` → `ann@example.com`; undefined for the null sender. */
function addressIn(value: string | undefined): string | undefined {
  return printable(value?.replace(/^rfc822[ \t]{0,5};/i, '').replace(/[<>]/g, ''), 320);
}
