import type { AuditRecord } from '../../audit/audit.service';
import type { Domain } from './domain.entity';

/** What is written down about a change to a domain. */
export function domainEvent(
  action: string,
  { organizationId, id }: Pick<Domain, 'organizationId' | 'id'>,
  actor: string,
  data: object = {},
): AuditRecord {
  return { organizationId, actor, action, targetType: 'domain', targetId: id, data };
}
