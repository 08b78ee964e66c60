import type { Statement } from '../../../database/statements/statement';

// The bytes that an organization's templates hold; counts those that are not counted yet, from before there was a count.
// Reads: templates (primary key, one organization's), template_versions (primary key, of the uncounted). Writes: templates, those once.
// Locks: the uncounted. Rows: one. Its caller holds the lock on the organization's list of templates.
// Not the ORM: it adds up, and counts in the same statement; an outer select does not see what the update writes.
const TOTAL = `
  with counted as (
    update templates t
    set stored_bytes = (
      select coalesce(sum(octet_length(subject) + coalesce(octet_length(html), 0) + coalesce(octet_length(text), 0)), 0)
      from template_versions v
      where v.organization_id = t.organization_id and v.template_id = t.id
    )
    where organization_id = $1 and stored_bytes = 0
    returning stored_bytes
  )
  select ((select coalesce(sum(stored_bytes), 0) from templates where organization_id = $1)
    + (select coalesce(sum(stored_bytes), 0) from counted))::float8 as bytes`;

export function totalTemplateBytes(organizationId: string): Statement<{ bytes: number }> {
  return { name: 'total-template-bytes', text: TOTAL, values: [organizationId] };
}
