import type { ErasableEmail } from './sql/find-erasable.sql';

const MIB = 1024 * 1024;
/** Looked through or deleted in one transaction, unless a single email has more: a second or so. */
const MAX_BYTES = 8 * MIB;

/** What of some emails can be erased at once. */
export type ErasureBatch =
  /** The attachments of this email, one by one, before anything of it is erased: afterwards it is not found again. */
  | { readonly kind: 'attachments'; readonly emailId: string }
  | { readonly kind: 'emails'; readonly emails: readonly ErasableEmail[]; readonly isAll: boolean };

/**
 * @param emails in the order of their ids
 * @param doneEmailId whose attachments have been looked through
 */
export function nextBatch(emails: readonly ErasableEmail[], doneEmailId: string | undefined): ErasureBatch {
  const isOpen = (email: ErasableEmail) => email.isShared && email.hasAttachments && email.emailId !== doneEmailId;
  const [first] = emails;
  if (first && isOpen(first)) return { kind: 'attachments', emailId: first.emailId };
  let bytes = 0;
  const taken: ErasableEmail[] = [];
  for (const email of emails) {
    bytes += email.bytes;
    if (taken.length > 0 && (bytes > MAX_BYTES || isOpen(email))) break;
    taken.push(email);
  }
  return { kind: 'emails', emails: taken, isAll: taken.length === emails.length };
}
