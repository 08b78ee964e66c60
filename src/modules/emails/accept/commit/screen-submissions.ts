import { AppError } from '../../../../common/errors/app-error';
import { newId } from '../../../../common/ids';
import { addressKey } from '../../../../common/mail-address';
import { sizeOfValue } from '../../../../common/values';
import type { SuppressionReason } from '../../../suppressions/suppressions.service';
import {
  type AcceptCommand,
  type AcceptedEmail,
  refusal,
  type ScreenedSubmission,
  type Submission,
  type SuppressedRecipient,
} from '../request/send-request';

/** Every recipient of the submissions, in order, for the suppression check. */
export function addressesOf(submissions: readonly Submission[]) {
  return commandsOf(submissions).flatMap(({ organizationId, mode, request }) =>
    request.recipients.map(({ email }) => ({
      organizationId,
      mode,
      key: addressKey(email),
      category: request.category,
    })),
  );
}

/** The organizations of submissions that share a transaction; the transaction can read no other rows. */
export function organizationsOf(submissions: readonly Submission[]): string[] {
  const found = new Set<string>();
  for (const { items, idempotency } of submissions) {
    if (idempotency) found.add(idempotency.organizationId);
    for (const { candidate, idempotency: claim } of items) {
      if (claim) found.add(claim.organizationId);
      if (candidate.kind === 'command') found.add(candidate.organizationId);
    }
  }
  return [...found];
}

/** Removes suppressed recipients; an email without others is refused. @param blocked reasons by index into `addressesOf(submissions)` */
export function screen(
  submissions: readonly Submission[],
  blocked: ReadonlyMap<number, SuppressionReason>,
): ScreenedSubmission[] {
  let offset = 0;
  return submissions.map(({ items, idempotency }) => ({
    idempotency,
    items: items.map(({ candidate, idempotency: claim }) => {
      if (candidate.kind === 'refused') return { outcome: candidate, idempotency: claim };
      const first = offset;
      offset += candidate.request.recipients.length;
      return { outcome: screenCommand(candidate, (index) => blocked.get(first + index)), idempotency: claim };
    }),
  }));
}

function screenCommand(command: AcceptCommand, reasonOf: (index: number) => SuppressionReason | undefined) {
  const { recipients } = command.request;
  const suppressed = recipients.flatMap(({ email }, index) => {
    const reason = reasonOf(index);
    return reason ? [{ email, reason }] : [];
  });
  if (suppressed.length === recipients.length) return refusal(allSuppressed(suppressed));
  const open = suppressed.length === 0 ? recipients : recipients.filter((_, index) => !reasonOf(index));
  return { id: newId(), command, recipients: open, suppressed } satisfies AcceptedEmail;
}

function allSuppressed(suppressedRecipients: readonly SuppressedRecipient[]): AppError {
  return new AppError('recipient_suppressed', 'Every recipient is on the suppression list', {
    details: { suppressedRecipients },
    suggestion: 'Remove manual or unsubscribe entries if the recipient asked for mail again',
  });
}

function commandsOf(submissions: readonly Submission[]): AcceptCommand[] {
  return submissions.flatMap((submission) =>
    submission.items.flatMap(({ candidate }) => (candidate.kind === 'command' ? [candidate] : [])),
  );
}

/** The approximate cost of writing a submission: its emails, and one more for every 16 KiB of content. */
export function weightOf({ items }: Submission): number {
  return items.reduce((sum, { candidate }) => {
    if (candidate.kind === 'refused') return sum + 1;
    return sum + Math.max(1, candidate.request.recipients.length / 2) + bytesOf(candidate) / 16_384;
  }, 0);
}

/** Above half a megabyte, or thousands of recipients, statements are built in several turns of the event loop. */
const MOST_BYTES = 512 * 1024;
const MOST_RECIPIENTS = 1_000;

/** Whether a submission takes several turns, for which others in the same transaction would have to wait. */
export function takesTurns({ items }: Submission): boolean {
  const commands = items.flatMap(({ candidate }) => (candidate.kind === 'command' ? [candidate] : []));
  const bytes = commands.reduce((sum, command) => sum + bytesOf(command), 0);
  const recipients = commands.reduce((sum, { request }) => sum + request.recipients.length, 0);
  return bytes > MOST_BYTES || recipients > MOST_RECIPIENTS;
}

/**
 * The estimated size of the rows of a submission: their contents, 2 KiB of an email and 1 KiB of a recipient, and the refusals that
 * are stored under an idempotency key.
 */
export function bytesIn({ items, idempotency }: Submission): number {
  return items.reduce((sum, { candidate, idempotency: own }) => {
    if (candidate.kind === 'refused') return (idempotency ?? own) ? sum + sizeOfValue(candidate, Infinity) : sum;
    return sum + 2_048 + 1_024 * candidate.request.recipients.length + bytesOf(candidate);
  }, 0);
}

/** The size of bodies and attachments. */
function bytesOf({ request: { html = '', text = '', raw, attachments } }: AcceptCommand): number {
  const bodies = html.length + text.length + (raw?.length ?? 0);
  return attachments.reduce((total, { content }) => total + content.length, bodies);
}
