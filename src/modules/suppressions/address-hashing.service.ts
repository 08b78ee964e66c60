import { createHmac, randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Clock } from '../../common/clock';
import { Keyring, type MasterKeys } from '../../common/encryption/encryption';
import { type EncryptedRecords, masterKeysAfter } from '../../common/encryption/re-encrypt';
import { AppConfig } from '../../config/config';
import type { Transaction } from '../../database/statements/transaction';
import {
  type AddressLookup,
  type EncryptedHashKey,
  formsOf,
  isLastingReason,
  type SuppressionReason,
} from './suppression';
import { SuppressionsRepository } from './suppressions.repository';
import { addressKey, maskAddress } from '../../common/mail-address';
import type { Tenant } from '../../common/tenant';
import type { Suppression } from './suppression.entity';

const KEY_BYTES = 32;
const MAX_DECRYPTED = 1_000;

/**
 * Pseudonyms for addresses that have been erased and must stay blocked: an HMAC under a random key of the organization, which
 * is stored encrypted. The database alone is not enough to read an address or to test whether it is listed.
 */
@Injectable()
export class AddressHashing {
  private readonly keyring: Keyring;
  /** Decrypted keys by their encrypted form: decryption costs as much as many reads. */
  private readonly decrypted = new Map<string, Buffer>();

  constructor(
    private readonly suppressions: SuppressionsRepository,
    private readonly clock: Clock,
    private readonly config: AppConfig,
  ) {
    this.keyring = hashKeyring(config);
  }

  /** An address under every key that it may be listed under, and hashed, if any address of the organization has been erased. */
  async namesOf(address: AddressLookup, tx?: Transaction): Promise<AddressLookup[]> {
    return [...formsOf(address), ...(await this.findHashed(address, tx))];
  }

  /** The hashed forms of an address; none when no address of the organization has been erased. */
  async findHashed(address: AddressLookup, tx?: Transaction): Promise<AddressLookup[]> {
    const key = await this.suppressions.findHashKey(address.organizationId, tx);
    return key ? formsOf(address).map((form) => this.hash(form, key)) : [];
  }

  /** The hashed form of an address; creates the organization's key when there is none yet. */
  async ensureHashed(address: AddressLookup, tx: Transaction): Promise<AddressLookup> {
    const { organizationId } = address;
    const secret = this.keyring.encrypt(randomBytes(KEY_BYTES), organizationId);
    const fresh = { organizationId, secret, createdAt: this.clock.now() };
    return this.hash(address, await this.suppressions.findOrInsertHashKey(fresh, tx));
  }

  /** @throws DecryptionError */
  hash(address: AddressLookup, key: EncryptedHashKey): AddressLookup {
    const { mode } = address;
    const digest = createHmac('sha256', this.decryptKey(key)).update(`${mode} ${address.key}`).digest('base64url');
    return { organizationId: address.organizationId, mode, key: `hmac:${digest}` };
  }

  /** The keys of all organizations, to be re-encrypted under this master key. */
  recordsUnder(masterKey: Buffer): EncryptedRecords<EncryptedHashKey> {
    const keyring = hashKeyring(masterKeysAfter(masterKey, this.config));
    const decrypt = ({ organizationId, secret }: EncryptedHashKey) => keyring.decrypt(secret, organizationId);
    return {
      rows: () => this.suppressions.allHashKeys(),
      nameOf: ({ organizationId }) => organizationId,
      isCurrent: ({ secret }) => keyring.isCurrent(secret),
      decrypt,
      reEncrypt: (key) => this.suppressions.replaceHashKey(key, keyring.encrypt(decrypt(key), key.organizationId)),
    };
  }

  private decryptKey({ organizationId, secret }: EncryptedHashKey): Buffer {
    const name = secret.toString('latin1');
    const known = this.decrypted.get(name);
    if (known) return known;
    const key = this.keyring.decrypt(secret, organizationId);
    if (this.decrypted.size >= MAX_DECRYPTED) this.decrypted.clear();
    this.decrypted.set(name, key);
    return key;
  }
}

/** The keyring that encrypts the hash keys of organizations. */
export function hashKeyring(keys: MasterKeys): Keyring {
  return new Keyring('suppression-hash', keys);
}

export interface ErasedSuppressions {
  readonly removed: number;
  readonly hashed: number;
  /** Reasons for which the address stays blocked, including those of earlier erasures. */
  readonly kept: readonly SuppressionReason[];
}

/** Removes an address from a suppression list. Entries that protect the recipient stay in force as a keyed hash. */
@Injectable()
export class SuppressionErasure {
  constructor(
    private readonly suppressions: SuppressionsRepository,
    private readonly hashing: AddressHashing,
  ) {}

  /** The reasons that would be kept if the address were erased now. */
  async keptReasons(owner: Tenant, email: string): Promise<SuppressionReason[]> {
    const address = { ...owner, key: addressKey(email) };
    const reasons = await this.suppressions.reasonsOf(await this.hashing.namesOf(address));
    return [...new Set(reasons)].filter(isLastingReason);
  }

  /** @param email normal form */
  async erase(owner: Tenant, email: string, tx: Transaction): Promise<ErasedSuppressions> {
    const address = { ...owner, key: addressKey(email) };
    const forms = formsOf(address);
    const entries = await this.suppressions.lockAll(forms, tx);
    const lasting = entries.filter(({ reason, expiresAt }) => isLastingReason(reason) && expiresAt === null);
    const others = entries.filter((entry) => !lasting.includes(entry));
    const before = await this.suppressions.lockAll(await this.hashing.findHashed(address, tx), tx);
    await this.delete(address, others, tx);
    await this.hash(address, lasting, { before, email: maskAddress(email) }, tx);
    for (const form of forms) {
      await this.suppressions.deleteSoftBounces(form, tx);
      await this.suppressions.deleteMissingDomain(form, tx);
    }
    const kept = [...new Set([...before, ...lasting].map(({ reason }) => reason))];
    return { removed: others.length, hashed: lasting.length, kept };
  }

  private async delete(owner: Tenant, entries: readonly Suppression[], tx: Transaction): Promise<void> {
    for (const { addressKey: key, reason } of entries) await this.suppressions.delete({ ...owner, key }, [reason], tx);
  }

  /** Replaces the address by its hash; an entry under the hash that exists already stays, with its date. */
  private async hash(
    address: AddressLookup,
    entries: readonly Suppression[],
    { before, email }: { before: readonly Suppression[]; email: string },
    tx: Transaction,
  ): Promise<void> {
    if (entries.length === 0) return;
    const hashed = await this.hashing.ensureHashed(address, tx);
    const isThere = (entry: Suppression, index: number) =>
      [...before, ...entries.slice(0, index)].some(({ reason }) => reason === entry.reason);
    await this.delete(address, entries.filter(isThere), tx);
    for (const entry of entries.filter((other, index) => !isThere(other, index))) {
      await this.suppressions.hash(entry, { addressKey: hashed.key, email }, tx);
    }
  }
}

export type { SuppressionReason };
