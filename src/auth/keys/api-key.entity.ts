import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { OperatorScope } from '../../common/http/scopes';
import type { Mode } from '../../common/tenant';

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
