import { Injectable } from '@nestjs/common';
import { SealingRing } from '../../../common/encryption/sealing-ring';
import { AppConfig } from '../../../config/config';
import type { DkimKey } from './dkim-key.entity';

export type KeyOwner = Pick<DkimKey, 'organizationId' | 'domainId' | 'selector'>;

/**
 * Seals private DKIM keys under the master key, and opens those under the previous one as well. The owner is part of the
 * seal: a ciphertext copied to another domain does not open.
 */
@Injectable()
export class DkimVault {
  private readonly ring: SealingRing;

  constructor({ masterKey, previousMasterKey }: AppConfig) {
    this.ring = new SealingRing('dkim-private-keys', masterKey, ...(previousMasterKey ? [previousMasterKey] : []));
  }

  seal(privateKey: Buffer, owner: KeyOwner): Buffer {
    return this.ring.seal(privateKey, additionalData(owner));
  }

  /** @throws SealedBoxError */
  open(sealed: Buffer, owner: KeyOwner): Buffer {
    return this.ring.open(sealed, additionalData(owner));
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
