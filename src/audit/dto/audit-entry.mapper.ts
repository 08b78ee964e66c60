import type { AuditEntry, AuditFilter } from '../audit.service';
import type { AuditEntryDto, ListAuditEntriesQuery } from './audit-entry.dto';

export function toAuditFilter({ actor, action, targetType, targetId, from, to }: ListAuditEntriesQuery): AuditFilter {
  const filter = { actor, action, targetType, targetId, from, to };
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));
}

export function toAuditEntryDto(entry: AuditEntry): AuditEntryDto {
  const { id, occurredAt, actor, action, targetType, targetId, data } = entry;
  return { id, timestamp: occurredAt.toISOString(), actor, action, targetType, targetId, data };
}

export function toAuditEntriesDto(entries: readonly AuditEntry[], limit: number, hasMore: boolean) {
  const last = entries.at(-1);
  return {
    data: entries.map(toAuditEntryDto),
    pagination: { limit, hasMore, ...(hasMore && last && { nextCursor: last.id }) },
  };
}
