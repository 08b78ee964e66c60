// Mail to the operator's mailboxes, newest first, and one message.
// Reads: feedback_reports (feedback_reports_mailbox; feedback_reports_id). Locks: none. Rows: up to $2; 1.
// Not the ORM: the table has no entity.
import type { Statement } from '../../../database/statement';
import type { PublicMail } from '../inbound-report';

const COLUMNS = `id, mailbox, received_at as "receivedAt", octet_length(raw) as size, disposition`;

export function listPublicMail(mailbox: string, limit: number): Statement<PublicMail> {
  const text = `select ${COLUMNS} from feedback_reports where mailbox = $1 order by id desc limit $2`;
  return { name: 'list-public-mail', text, values: [mailbox, limit] };
}

export function readPublicMail(id: string): Statement<PublicMail & { raw: Buffer }> {
  const text = `select ${COLUMNS}, raw from feedback_reports where id = $1`;
  return { name: 'read-public-mail', text, values: [id] };
}
