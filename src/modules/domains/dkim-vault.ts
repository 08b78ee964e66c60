import { Injectable } from '@nestjs/common';
import { deriveSealingKey, type SealingKey } from '../../common/crypto/key-ring';
import { open, seal } from '../../common/crypto/sealed-box';
import { AppConfig } from '../../config/config';
import type { DkimKey } from './dkim-key.entity';

type KeyOwner = Pick<DkimKey, 'organizationId' | 'domainId' | 'selector'>;

/** Seals private DKIM keys. The owner is part of the seal: a ciphertext copied to another domain does not open. */
@Injectable()
export class DkimVault {
  private readonly key: SealingKey;

  constructor(config: AppConfig) {
    this.key = deriveSealingKey(config.masterKey, 'dkim-private-keys');
  }

  seal(privateKey: Buffer, owner: KeyOwner): Buffer {
    return seal(privateKey, this.key, additionalData(owner));
  }

  open(sealed: Buffer, owner: KeyOwner): Buffer {
    return open(sealed, this.key, additionalData(owner));
  }
}

function additionalData({ organizationId, domainId, selector }: KeyOwner): string {
  return `${organizationId}|${domainId}|${selector}`;
}
