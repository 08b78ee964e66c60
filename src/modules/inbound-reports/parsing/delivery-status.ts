import type { Steps } from '../../../common/async/steps';
import type { ReplyClassifier } from '../../../delivery/policy/replies/classify-reply';
import { evaluateFailure, MAXIMUM_RESPONSE_LENGTH, type FailureGrounds } from './evaluate-failure';
import { type HeaderFields, readHeader } from '../../../common/mime/mime-message';
import { decodeField } from '../../../common/mime/part-text';
import { printable, type Report, PARSING_LIMITS } from './report';

/** Actions of RFC 3464 section 2.3.3, the worst first. */
const ACTIONS = ['failed', 'delayed', 'relayed', 'expanded', 'delivered'] as const;
type Action = (typeof ACTIONS)[number];

interface RecipientStatus {
  readonly action: Action;
  readonly status: string | undefined;
  /** What the remote side said. */
  readonly text: string | undefined;
  readonly remoteHost: string | undefined;
  readonly recipient: string | undefined;
  /** Undefined when it is the same. */
  readonly originalRecipient: string | undefined;
}

const ACTION_OF_CLASS: ReadonlyMap<string, Action> = new Map<string, Action>([
  ['2', 'delivered'],
  ['4', 'delayed'],
  ['5', 'failed'],
]);
const STATUS = /[245]\.\d{1,3}\.\d{1,3}/;
/** The words of the remote side; gateways that have none of their own keep the remote server's in the second. */
const DIAGNOSTICS = ['diagnostic-code', 'x-supplementary-info'] as const;
/** The start of a status that lost its own part. */
const BARE_STATUS = /^(?:reporting-mta|original-recipient|final-recipient)[ \t]{0,5}:/im;

/**
 * Reads a delivery status (RFC 3464, and RFC 6533 for addresses in UTF-8); undefined without a recipient. The address that the
 * report came to concerns one delivery; of several blocks the worst counts.
 *
 * @param text one character a byte
 * @param words the grounds in the words around the status, read when the only block gives none itself
 */
export function* readDeliveryStatus(
  text: string,
  classifier: ReplyClassifier,
  words?: () => Steps<FailureGrounds>,
): Steps<Report | undefined> {
  const blocks = blocksOf(text);
  const statuses = blocks.map(recipientStatus).filter((status) => status !== undefined);
  const worst = ACTIONS.find((action) => statuses.some((status) => status.action === action));
  const chosen = statuses.find((status) => status.action === worst);
  if (!chosen) return undefined;
  const reportingHost = blocks.map((fields) => fields.first('reporting-mta')).find((host) => host !== undefined);
  const found = { ...chosen, remoteHost: chosen.remoteHost ?? hostOf(reportingHost) };
  if (found.action !== 'failed') return otherReport(found.action, found);
  const shared = statuses.some(({ action, recipient }) => action !== 'failed' || recipient !== found.recipient);
  const silent = statuses.length === 1 && !found.text && (found.status?.endsWith('.0.0') ?? true);
  const said = silent && words ? yield* words() : {};
  const grounds = { text: found.text, status: found.status, shared, ...said };
  const { remoteHost, recipient: finalRecipient, originalRecipient } = found;
  return { ...evaluateFailure(grounds, classifier), remoteHost, finalRecipient, originalRecipient };
}

/** The same for a text that holds the fields among other lines, as gateways leave them. */
export function* readBareDeliveryStatus(text: string, classifier: ReplyClassifier): Steps<Report | undefined> {
  const start = text.search(BARE_STATUS);
  return start === -1 ? undefined : yield* readDeliveryStatus(text.slice(start), classifier);
}

function blocksOf(text: string): HeaderFields[] {
  const blocks: HeaderFields[] = [];
  for (let rest = text; rest !== '' && blocks.length < PARSING_LIMITS.statusBlocks;) {
    const block = readHeader(rest);
    rest = block.rest.trimStart();
    blocks.push(block.fields);
  }
  return blocks;
}

function recipientStatus(fields: HeaderFields): RecipientStatus | undefined {
  if (!fields.has('final-recipient', 'original-recipient', ...DIAGNOSTICS)) return undefined;
  const status = STATUS.exec(fields.first('status') ?? '')?.[0];
  const action = actionOf(fields.first('action'), status);
  if (!action) return undefined;
  const text = DIAGNOSTICS.map((name) => withoutKind(fields.first(name))).find((value) => value);
  const final = addressOf(fields.first('final-recipient'));
  // Sendmail's `Final-Recipient` is the address that it was given, also where that leads to another one that failed.
  const actual = addressOf(fields.first('x-actual-recipient'));
  const original = addressOf(fields.first('original-recipient')) ?? (actual === undefined ? undefined : final);
  const recipient = actual ?? final ?? original;
  const originalRecipient = original === recipient ? undefined : original;
  return { action, status, text, remoteHost: hostOf(fields.first('remote-mta')), recipient, originalRecipient };
}

/** A temporary status without an action does not mean that the sender has given up. */
function actionOf(field: string | undefined, status: string | undefined): Action | undefined {
  const named = field?.toLowerCase() ?? '';
  return ACTIONS.find((action) => named.startsWith(action)) ?? ACTION_OF_CLASS.get(status?.[0] ?? '');
}

function otherReport(action: Exclude<Action, 'failed'>, { text, remoteHost, status }: RecipientStatus): Report {
  const response = printable(text, MAXIMUM_RESPONSE_LENGTH);
  return action === 'delivered'
    ? { kind: action, remoteHost, response, enhancedCode: status }
    : { kind: action, response };
}

/** `smtp; 550 …` → `550 …`; also `rfc822; ann@example.com` and `dns; mx.example.com`. */
function withoutKind(value: string | undefined): string | undefined {
  return value === undefined ? undefined : decodeField(value.replace(/^[\w-]{1,30}[ \t]{0,5};/, '').trim());
}

function addressOf(value: string | undefined): string | undefined {
  return printable(withoutKind(value)?.replace(/[<>]/g, ''), 320);
}

/** The first word, without a final dot; an address or a comment often follows a host. */
function hostOf(value: string | undefined): string | undefined {
  const host = withoutKind(value)?.split(/[\s([]/, 1)[0];
  return printable(host?.replace(/\.$/, ''), 255);
}
