import { Column, Entity, PrimaryColumn } from 'typeorm';

/**
 * `pending`: its record has not been found in DNS yet, so the older key signs. `active`: signs. `retiring`: stays published
 * until `expiresAt`, for mail that is still on its way.
 */
export type DkimKeyState = 'pending' | 'active' | 'retiring';

/** A DKIM key pair; the private half is encrypted under the master key. */
@Entity('dkim_keys')
export class DkimKey {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('uuid', { name: 'domain_id' }) domainId!: string;
  @PrimaryColumn('text') selector!: string;
  @Column('bytea', { name: 'private_key_sealed' }) encryptedPrivateKey!: Buffer;
  /** Base64 of the DER public key: the `p=` of the DNS record. */
  @Column('text', { name: 'public_key' }) publicKey!: string;
  @Column('text', { default: 'active' }) state!: DkimKeyState;
  @Column('timestamptz', { name: 'created_at', default: () => 'now()' }) createdAt!: Date;
  @Column('timestamptz', { name: 'expires_at', nullable: true }) expiresAt!: Date | null;
}
