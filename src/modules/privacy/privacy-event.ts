import type { AuditRecord } from '../../audit/audit.service';
import type { PrivacyRequest } from './privacy-request.entity';

const NAMES = { article_15_access: 'export', article_17_erasure: 'erasure' } as const;

/** An entry of the audit log such as `privacy.export_requested`; the address is masked. */
export function requestEvent(
  what: 'requested' | 'completed' | 'failed' | 'read',
  { organizationId, mode, id, type, maskedEmail, format }: PrivacyRequest,
  actor: string,
): AuditRecord {
  return {
    organizationId,
    actor,
    action: `privacy.${NAMES[type]}_${what}`,
    ...{ targetType: 'privacy_request', targetId: id },
    data: { mode, email: maskedEmail, ...(format && { format }) },
  };
}
