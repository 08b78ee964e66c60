import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Mode } from '../../common/tenant';
import type { SuppressionReason } from './suppression';

/** A suppressed address, with one reason. */
@Entity('suppressions')
export class Suppression {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('text') mode!: Mode;
  /** The normal form of the address, by which it is matched. */
  @PrimaryColumn('text', { name: 'address_key' }) addressKey!: string;
  @PrimaryColumn('text') reason!: SuppressionReason;
  @Column('uuid') id!: string;
  @Column('text') email!: string;
  /** `api`: added over the API or by an operator. */
  @Column('text') source!: 'automatic' | 'api';
  @Column('text', { nullable: true }) notes!: string | null;
  @Column('timestamptz', { name: 'suppressed_at' }) suppressedAt!: Date;
  /** The entry has no effect from then on; null: it never expires. */
  @Column('timestamptz', { name: 'expires_at', nullable: true }) expiresAt!: Date | null;
}

/** An entry in its place in the list: `listedAt` is `suppressedAt` to the microsecond, by which the list is ordered. */
export type ListedSuppression = Suppression & { readonly listedAt: string };

/** The soft bounces of an address within the window of the rule. Rows are written by a statement (sql/). */
@Entity('soft_bounces')
export class SoftBounces {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('text') mode!: Mode;
  /** The normal form of the address. */
  @PrimaryColumn('text', { name: 'address_key' }) addressKey!: string;
  /** Oldest first; at most the number that suppresses an address. */
  @Column('timestamptz', { name: 'bounced_at', array: true }) bouncedAt!: Date[];
  @Column('timestamptz', { name: 'last_bounced_at' }) lastBouncedAt!: Date;
}

/** A recipient whose domain did not exist in DNS. Rows are written by a statement (sql/). */
@Entity('missing_domains')
export class MissingDomain {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('text') mode!: Mode;
  /** The normal form of the address. */
  @PrimaryColumn('text', { name: 'address_key' }) addressKey!: string;
  /** Days in UTC. */
  @Column('date', { name: 'first_seen_on' }) firstSeenOn!: string;
  @Column('date', { name: 'last_seen_on' }) lastSeenOn!: string;
}

/** The HMAC key for the erased addresses of an organization. */
@Entity('suppression_hash_keys')
export class SuppressionHashKey {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  /** Encrypted. */
  @Column('bytea') secret!: Buffer;
  @Column('timestamptz', { name: 'created_at' }) createdAt!: Date;
}
