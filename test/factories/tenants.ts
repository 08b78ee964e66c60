import { newId } from '../../src/common/ids';
import type { Mode } from '../../src/common/tenant';

/** Anything that runs SQL: an open test database or a data source. */
export interface Queryable {
  query(text: string, values?: unknown[]): Promise<any>;
}

export interface Tenant {
  readonly organizationId: string;
  readonly domainId: string;
  /** The name of its default domain. */
  readonly domain: string;
  /** The sender, as the API's guards provide it. */
  as(mode: Mode, boundTo?: string): { organizationId: string; mode: Mode; domainId: string | undefined };
}

/** An organization with a verified default domain. */
export async function createTenant(db: Queryable, fields: { domain?: string; status?: string } = {}): Promise<Tenant> {
  const organizationId = newId();
  const domain = fields.domain ?? `d${organizationId.slice(-12)}.example`;
  await db.query('insert into organizations (id, name) values ($1, $2)', [organizationId, domain]);
  const domainId = await addDomain(db, organizationId, { domain, isDefault: true, status: fields.status });
  return { organizationId, domainId, domain, as: (mode, domainId) => ({ organizationId, mode, domainId }) };
}

export async function addDomain(
  db: Queryable,
  organizationId: string,
  fields: { domain?: string; status?: string; isDefault?: boolean } = {},
): Promise<string> {
  const id = newId();
  const { domain = `d${id.slice(-12)}.example`, status = 'verified', isDefault = false } = fields;
  await db.query(
    `insert into domains (organization_id, id, domain, verification_status, verification_token, is_default)
     values ($1, $2, $3, $4, 'token', $5)`,
    [organizationId, id, domain, status, isDefault],
  );
  return id;
}

export async function addSuppression(
  db: Queryable,
  tenant: Tenant,
  fields: { email: string; reason: string; mode?: Mode; expiresAt?: Date; notes?: string },
): Promise<void> {
  const { email, reason, mode = 'live', expiresAt = null, notes = null } = fields;
  await db.query(
    `insert into suppressions (organization_id, mode, address_key, reason, id, email, source, expires_at, notes)
     values ($1, $2, lower($3), $4, $5, $3, 'api', $6, $7)`,
    [tenant.organizationId, mode, email, reason, newId(), expiresAt, notes],
  );
}
