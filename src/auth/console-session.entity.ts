import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Mode } from '../common/tenant';

/**
 * A session of the console: of the session id only the SHA-256 is kept. It ends with its key. The organization of
 * an operator's is all zeros, as in the audit log.
 */
@Entity('console_sessions')
export class ConsoleSession {
  @PrimaryColumn('bytea') hash!: Buffer;
  @Column('uuid', { name: 'organization_id' }) organizationId!: string;
  /** An API key, or an operator's. */
  @Column('uuid', { name: 'key_id' }) keyId!: string;
  @Column('timestamptz', { name: 'created_at' }) createdAt!: Date;
  @Column('timestamptz', { name: 'expires_at' }) expiresAt!: Date;
}

/** A link that signs in once: of its token only the SHA-256 is kept. */
@Entity('console_links')
export class ConsoleLink {
  @PrimaryColumn('bytea') hash!: Buffer;
  @Column('uuid', { name: 'organization_id' }) organizationId!: string;
  /** Null for an operator. */
  @Column('text', { nullable: true }) mode!: Mode | null;
  @Column('timestamptz', { name: 'expires_at' }) expiresAt!: Date;
}
