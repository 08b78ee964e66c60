import { createHmac } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { deriveKey, Keyring } from '../../../common/encryption/encryption';
import { addressKey } from '../../../common/mail-address';
import { AppConfig } from '../../../config/config';
import type { PartKey, RequestKey } from './privacy-request.entity';

/** Whom a request is about, in normal form, and what they gave as their reason. */
export interface PrivacySubject {
  readonly email: string;
  readonly reason?: string;
}

/**
 * Encrypts subjects and results at rest under the master key. The previous one still decrypts, and subjects are found by the
 * hashes of both. The place of a ciphertext is authenticated, so that one copied to another request does not decrypt.
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

  /** HMAC-SHA-256 of the address's normal form: reveals nothing of the address without the key. */
  hashOf(email: string): Buffer {
    return hmac(this.hashKeys[0], email);
  }

  /** By the present and by the previous master key: what to search for. */
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

  /** Whether one of the keys has encrypted it. */
  knows(encrypted: Buffer): boolean {
    return this.ring.knows(encrypted);
  }

  /** Whether it is encrypted under the present master key. */
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
