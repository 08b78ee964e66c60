/**
 * What happens to an entry that is there already when it is listed automatically: one in force keeps its first date and
 * takes the later expiry, one that has expired is replaced.
 */
export const KEEP_OR_REPLACE = `
  on conflict (organization_id, mode, address_key, reason) do update
    set (id, email, source, notes, suppressed_at, expires_at) = (
      select excluded.id, excluded.email, excluded.source, excluded.notes, excluded.suppressed_at, excluded.expires_at
      where suppressions.expires_at <= excluded.suppressed_at
      union all
      select suppressions.id, suppressions.email, suppressions.source, suppressions.notes, suppressions.suppressed_at,
        case
          when suppressions.expires_at is null or excluded.expires_at is null then null
          else greatest(suppressions.expires_at, excluded.expires_at)
        end
      where suppressions.expires_at <= excluded.suppressed_at is not true
    )`;
