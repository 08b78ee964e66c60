import { Injectable } from '@nestjs/common';
import { Keyring } from '../../../common/encryption/keyring';
import { AppConfig } from '../../../config/config';
import type { DkimKey } from './dkim-key.entity';

export type KeyOwner = Pick<DkimKey, 'organizationId' | 'domainId' | 'selector'>;

/**
 * Encrypts private DKIM keys under the master key, and decrypts those under the previous one as well. The owner is
 * authenticated with the key: a ciphertext copied to another domain does not decrypt.
 */
@Injectable()
export class DkimKeyring {
  private readonly keyring: Keyring;

  constructor({ masterKey, previousMasterKey }: AppConfig) {
    this.keyring = new Keyring('dkim-private-keys', { masterKey, previousMasterKey });
  }

  encrypt(privateKey: Buffer, owner: KeyOwner): Buffer {
    return this.keyring.encrypt(privateKey, contextOf(owner));
  }

  /** @throws DecryptionError */
  decrypt(encrypted: Buffer, owner: KeyOwner): Buffer {
    return this.keyring.decrypt(encrypted, contextOf(owner));
  }

  /** Whether it was encrypted under one of the master keys; a damaged one may still not decrypt. */
  knows(encrypted: Buffer): boolean {
    return this.keyring.knows(encrypted);
  }

  /** Whether it is encrypted under the present master key. */
  isCurrent(encrypted: Buffer): boolean {
    return this.keyring.isCurrent(encrypted);
  }
}

function contextOf({ organizationId, domainId, selector }: KeyOwner): string {
  return `${organizationId}|${domainId}|${selector}`;
}
