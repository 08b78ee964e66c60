import { Injectable } from '@nestjs/common';
import type { Keyring } from '../../common/encryption/keyring';
import { AppConfig } from '../../config/config';
import { hashKeyRing } from './address-hashing.service';
import { HashKeysRepository } from './hash-keys.repository';

/** The keys of all organizations' hashed suppressions, as they are stored: for whoever looks after the master key. */
@Injectable()
export class SealedHashKeys {
  constructor(
    private readonly keys: HashKeysRepository,
    private readonly config: AppConfig,
  ) {}

  /** The ring of the time after a change to this master key: what is sealed under the present one still opens. */
  ringUnder(masterKey: Buffer): Keyring {
    const { config } = this;
    return hashKeyRing(masterKey, masterKey.equals(config.masterKey) ? config.previousMasterKey : config.masterKey);
  }

  /** Counts them, and names the organizations of those that do not open. Changes nothing. */
  async examine(ring: Keyring): Promise<{ hashKeys: number; closed: string[] }> {
    let hashKeys = 0;
    const closed: string[] = [];
    for await (const page of this.keys.pages()) {
      hashKeys += page.length;
      closed.push(
        ...page.filter((key) => !opens(ring, key.secret, key.organizationId)).map((key) => key.organizationId),
      );
    }
    return { hashKeys, closed };
  }

  /**
   * Seals again what is not sealed under the present master key of the ring; answers how many. It can be repeated.
   * @throws DecryptionError for a key that does not open
   */
  async reseal(ring: Keyring): Promise<number> {
    let resealed = 0;
    for await (const page of this.keys.pages()) {
      for (const key of page.filter(({ secret }) => !ring.isCurrent(secret))) {
        const secret = ring.encrypt(ring.decrypt(key.secret, key.organizationId), key.organizationId);
        if (await this.keys.replace(key, secret)) resealed += 1;
      }
    }
    return resealed;
  }
}

function opens(ring: Keyring, sealed: Buffer, context: string): boolean {
  try {
    ring.decrypt(sealed, context);
    return true;
  } catch {
    return false;
  }
}
