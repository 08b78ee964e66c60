import { createHmac } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { deriveKey, Keyring } from '../../../common/encryption/encryption';
import { addressKey } from '../../../common/mail-address';
import { AppConfig } from '../../../config/config';
import type { PartKey, RequestKey } from './privacy-request.entity';

/** The data subject of a request, in normal form, and the reason given. */
export interface PrivacySubject {
  readonly email: string;
  readonly reason?: string;
}

/**
 * Encrypts subjects and results at rest under the master key. The previous key still decrypts, and subjects are found by the
 * hashes of both keys. The request is authenticated data of the ciphertext, so that a copy in another request does not decrypt.
 */
@Injectable()
export class PrivacyKeyring {
  private readonly ring: Keyring;
  private readonly hashKeys: readonly [Buffer, ...Buffer[]];

  constructor({ masterKey, previousMasterKey }: AppConfig) {
    const others = previousMasterKey ? [previousMasterKey] : [];
    this.ring = new Keyring('privacy', { masterKey, previousMasterKey });
    const hashKey = (master: Buffer) => deriveKey(master, 'privacy-subject');
    this.hashKeys = [hashKey(masterKey), ...others.map(hashKey)];
  }

  /** HMAC-SHA-256 of the address's normal form, which reveals nothing without the key. */
  hashOf(email: string): Buffer {
    return hmac(this.hashKeys[0], email);
  }

  /** The hashes by the current and the previous master key, to search for. */
  hashesOf(email: string): Buffer[] {
    return this.hashKeys.map((key) => hmac(key, email));
  }

  encryptSubject(subject: PrivacySubject, key: RequestKey): Buffer {
    return this.ring.encrypt(Buffer.from(JSON.stringify(subject)), contextOf(key));
  }

  /** @throws DecryptionError */
  decryptSubject(encrypted: Buffer, key: RequestKey): PrivacySubject {
    return JSON.parse(this.ring.decrypt(encrypted, contextOf(key)).toString()) as PrivacySubject;
  }

  encryptPart(content: Buffer, key: PartKey): Buffer {
    return this.ring.encrypt(content, contextOfPart(key));
  }

  /** @throws DecryptionError */
  decryptPart(encrypted: Buffer, key: PartKey): Buffer {
    return this.ring.decrypt(encrypted, contextOfPart(key));
  }

  /** Whether it is encrypted under one of the two keys. */
  knows(encrypted: Buffer): boolean {
    return this.ring.knows(encrypted);
  }

  /** Whether it is encrypted under the current master key. */
  isCurrent(encrypted: Buffer): boolean {
    return this.ring.isCurrent(encrypted);
  }
}

function hmac(key: Buffer, email: string): Buffer {
  return createHmac('sha256', key).update(addressKey(email)).digest();
}

function contextOf({ organizationId, mode, id }: RequestKey): string {
  return `${organizationId}|${mode}|${id}`;
}

function contextOfPart(key: PartKey): string {
  return `${contextOf(key)}|${key.section}|${key.part}`;
}
