import type { AuditRecord } from '../../audit/audit.service';
import type { ListOwner } from './suppression';
import type { Suppression } from './suppression.entity';

/** What is written down about a change to one entry; the address itself is personal data and stays out. */
export function suppressionEvent(
  action: 'suppression.added' | 'suppression.removed',
  { organizationId, mode, id, reason }: Suppression,
  actor: string,
): AuditRecord {
  return { organizationId, actor, action, targetType: 'suppression', targetId: id, data: { mode, reason } };
}

/** One record for a whole batch. */
export function importEvent({ organizationId, mode }: ListOwner, added: number, actor: string): AuditRecord {
  const target = { targetType: 'organization', targetId: organizationId };
  return { organizationId, actor, action: 'suppression.imported', ...target, data: { mode, added } };
}
