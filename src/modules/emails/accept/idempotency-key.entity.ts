import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Mode } from '../../../common/tenant';

/** The response to a request, to be returned again under the same key. Rows are read and written by statements (sql/). */
@Entity('idempotency_keys')
export class IdempotencyKey {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('text') mode!: Mode;
  @PrimaryColumn('text') path!: string;
  @PrimaryColumn('text') key!: string;
  /** SHA-256 of the canonical JSON of the body. */
  @Column('bytea') fingerprint!: Buffer;
  /** One result, or a batch's list of them. */
  @Column('jsonb') response!: unknown;
  @Column('timestamptz', { name: 'created_at' }) createdAt!: Date;
}
