import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Mode } from '../../common/tenant';

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
