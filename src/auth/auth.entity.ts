import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { OperatorScope } from '../common/http/scopes';
import type { Mode } from '../common/tenant';

export type OrganizationStatus = 'active' | 'suspended';

/** A tenant: all other data belongs to one. */
@Entity('organizations')
export class Organization {
  @PrimaryColumn('uuid') id!: string;
  @Column({
    type: 'integer',
    generated: 'identity',
    generatedIdentity: 'ALWAYS',
    unique: true,
    insert: false,
    update: false,
  })
  ordinal!: number;
  @Column('text') name!: string;
  @Column('text', { default: 'active' }) status!: OrganizationStatus;
  @Column('boolean', { name: 'track_opens', default: false }) trackOpens!: boolean;
  @Column('boolean', { name: 'track_clicks', default: false }) trackClicks!: boolean;
  /** Its share of the deliveries relative to other organizations: 1 to 100. */
  @Column('integer', { default: 1 }) weight!: number;
  /** How many recipients its live mail may have in a month (UTC); null: unlimited. */
  @Column('integer', { name: 'monthly_recipients', nullable: true }) monthlyRecipients!: number | null;
  @Column('timestamptz', { name: 'created_at', default: () => 'now()' }) createdAt!: Date;
  @Column('timestamptz', { name: 'updated_at', default: () => 'now()' }) updatedAt!: Date;
}

/** An API key. Only the SHA-256 of the key itself is stored. */
@Entity('api_keys')
export class ApiKey {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('uuid') id!: string;
  @Column('text') name!: string;
  @Column('text') mode!: Mode;
  @Column('text', { array: true }) scopes!: string[];
  @Column('text') prefix!: string;
  @Column('bytea') hash!: Buffer;
  @Column('uuid', { name: 'domain_id', nullable: true }) domainId!: string | null;
  @Column('timestamptz', { name: 'expires_at', nullable: true }) expiresAt!: Date | null;
  @Column('timestamptz', { name: 'last_used_at', nullable: true }) lastUsedAt!: Date | null;
  @Column('timestamptz', { name: 'revoked_at', nullable: true }) revokedAt!: Date | null;
  /** Created by a sign-in link for one console session and revoked with it; the key itself is never shown. */
  @Column('boolean', { name: 'session_only', default: false }) sessionOnly!: boolean;
  @Column('timestamptz', { name: 'created_at', default: () => 'now()' }) createdAt!: Date;
}

/** An operator's key. Only the SHA-256 of the key itself is stored. */
@Entity('operator_keys')
export class OperatorKey {
  @PrimaryColumn('uuid') id!: string;
  @Column('text') name!: string;
  @Column('text', { array: true }) scopes!: OperatorScope[];
  @Column('text') prefix!: string;
  @Column('bytea', { unique: true }) hash!: Buffer;
  @Column('timestamptz', { name: 'expires_at', nullable: true }) expiresAt!: Date | null;
  @Column('timestamptz', { name: 'last_used_at', nullable: true }) lastUsedAt!: Date | null;
  @Column('timestamptz', { name: 'revoked_at', nullable: true }) revokedAt!: Date | null;
  /** Created by a sign-in link for one console session and revoked with it. */
  @Column('boolean', { name: 'session_only', default: false }) sessionOnly!: boolean;
  @Column('timestamptz', { name: 'created_at' }) createdAt!: Date;
}

/**
 * A console session. Only the SHA-256 of the session id is stored. It ends with its key. The organization id of
 * an operator's session is the nil UUID, as in the audit log.
 */
@Entity('console_sessions')
export class ConsoleSession {
  @PrimaryColumn('bytea') hash!: Buffer;
  @Column('uuid', { name: 'organization_id' }) organizationId!: string;
  /** Id of an API key or of an operator key. */
  @Column('uuid', { name: 'key_id' }) keyId!: string;
  @Column('timestamptz', { name: 'created_at' }) createdAt!: Date;
  @Column('timestamptz', { name: 'expires_at' }) expiresAt!: Date;
}

/** A link that signs in once. Only the SHA-256 of its token is stored. */
@Entity('console_links')
export class ConsoleLink {
  @PrimaryColumn('bytea') hash!: Buffer;
  @Column('uuid', { name: 'organization_id' }) organizationId!: string;
  /** Null for an operator. */
  @Column('text', { nullable: true }) mode!: Mode | null;
  @Column('timestamptz', { name: 'expires_at' }) expiresAt!: Date;
}
