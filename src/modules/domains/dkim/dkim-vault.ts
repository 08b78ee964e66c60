import { Injectable } from '@nestjs/common';
import { Keyring } from '../../../common/encryption/keyring';
import { AppConfig } from '../../../config/config';
import type { DkimKey } from './dkim-key.entity';

export type KeyOwner = Pick<DkimKey, 'organizationId' | 'domainId' | 'selector'>;

/**
 * Seals private DKIM keys under the master key, and opens those under the previous one as well. The owner is part of the
 * seal: a ciphertext copied to another domain does not open.
 */
@Injectable()
export class DkimVault {
  private readonly ring: Keyring;

  constructor({ masterKey, previousMasterKey }: AppConfig) {
    this.ring = new Keyring('dkim-private-keys', { masterKey, previousMasterKey });
  }

  seal(privateKey: Buffer, owner: KeyOwner): Buffer {
    return this.ring.encrypt(privateKey, additionalData(owner));
  }

  /** @throws DecryptionError */
  open(sealed: Buffer, owner: KeyOwner): Buffer {
    return this.ring.decrypt(sealed, additionalData(owner));
  }

  /** Whether it was sealed under one of the master keys; whether it opens is another question. */
  knows(sealed: Buffer): boolean {
    return this.ring.knows(sealed);
  }

  /** Whether it is sealed under the present master key. */
  isCurrent(sealed: Buffer): boolean {
    return this.ring.isCurrent(sealed);
  }
}

function additionalData({ organizationId, domainId, selector }: KeyOwner): string {
  return `${organizationId}|${domainId}|${selector}`;
}
