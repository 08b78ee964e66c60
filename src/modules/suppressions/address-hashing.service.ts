import { createHmac, randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Clock } from '../../common/clock';
import { Keyring } from '../../common/encryption/keyring';
import { AppConfig } from '../../config/config';
import type { Transaction } from '../../database/transaction';
import type { AddressLookup, EncryptedHashKey } from './suppression';
import { HashKeysRepository } from './hash-keys.repository';

const KEY_BYTES = 32;
const MAX_OPEN = 1_000;

/**
 * Names addresses that have been erased and must stay blocked: by an HMAC under a random key of the organization, which
 * is kept sealed. The database alone is not enough to read an address or to test whether it is listed.
 */
@Injectable()
export class AddressHashing {
  private readonly ring: Keyring;
  /** By their sealed form: opening one costs as much as many look-ups. */
  private readonly open = new Map<string, Buffer>();

  constructor(
    private readonly keys: HashKeysRepository,
    private readonly clock: Clock,
    { masterKey, previousMasterKey }: AppConfig,
  ) {
    this.ring = hashKeyRing(masterKey, previousMasterKey);
  }

  /** How an address is named; undefined when no address of the organization has been erased. */
  async find(address: AddressLookup, tx?: Transaction): Promise<AddressLookup | undefined> {
    const key = await this.keys.find(address.organizationId, tx);
    return key ? this.hash(address, key) : undefined;
  }

  /** How an address is named from now on. */
  async name(address: AddressLookup, tx: Transaction): Promise<AddressLookup> {
    const { organizationId } = address;
    const secret = this.ring.encrypt(randomBytes(KEY_BYTES), organizationId);
    const fresh = { organizationId, secret, createdAt: this.clock.now() };
    return this.hash(address, await this.keys.findOrInsert(fresh, tx));
  }

  /** @throws DecryptionError */
  hash(address: AddressLookup, key: EncryptedHashKey): AddressLookup {
    const { mode } = address;
    const digest = createHmac('sha256', this.openKey(key)).update(`${mode} ${address.key}`).digest('base64url');
    return { organizationId: address.organizationId, mode, key: `hmac:${digest}` };
  }

  private openKey({ organizationId, secret }: EncryptedHashKey): Buffer {
    const name = secret.toString('latin1');
    const known = this.open.get(name);
    if (known) return known;
    const opened = this.ring.decrypt(secret, organizationId);
    if (this.open.size >= MAX_OPEN) this.open.clear();
    this.open.set(name, opened);
    return opened;
  }
}

export function hashKeyRing(masterKey: Buffer, previousMasterKey: Buffer | undefined): Keyring {
  return new Keyring('suppression-hash', { masterKey, previousMasterKey });
}
