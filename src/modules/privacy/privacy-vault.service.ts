import { createHmac } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { deriveKey } from '../../common/encryption/encryption';
import { Keyring } from '../../common/encryption/keyring';
import { addressKey } from '../../common/mail-address';
import { AppConfig } from '../../config/config';
import type { PartKey, RequestKey } from './privacy-keys';

/** Whom a request is about, in normal form, and what they gave as their reason. */
export interface PrivacySubject {
  readonly email: string;
  readonly reason?: string;
}

/**
 * Keeps subjects and results unreadable at rest, under the master key; what is sealed under the previous one opens as
 * well, and subjects are found by the hashes of both. Where something belongs is part of its seal, so that a ciphertext
 * copied to another request does not open.
 */
@Injectable()
export class PrivacyVault {
  private readonly ring: Keyring;
  private readonly hashKeys: readonly [Buffer, ...Buffer[]];

  constructor({ masterKey, previousMasterKey }: AppConfig) {
    const others = previousMasterKey ? [previousMasterKey] : [];
    this.ring = new Keyring('privacy', { masterKey, previousMasterKey });
    const hashKey = (master: Buffer) => deriveKey(master, 'privacy-subject');
    this.hashKeys = [hashKey(masterKey), ...others.map(hashKey)];
  }

  /** HMAC-SHA-256 of the address's normal form: says nothing of the address to whoever has not the key. */
  hashOf(email: string): Buffer {
    return hmac(this.hashKeys[0], email);
  }

  /** By the present and by the previous master key: what to look for. */
  hashesOf(email: string): Buffer[] {
    return this.hashKeys.map((key) => hmac(key, email));
  }

  sealSubject(subject: PrivacySubject, key: RequestKey): Buffer {
    return this.ring.encrypt(Buffer.from(JSON.stringify(subject)), contextOf(key));
  }

  /** @throws DecryptionError */
  openSubject(sealed: Buffer, key: RequestKey): PrivacySubject {
    return JSON.parse(this.ring.decrypt(sealed, contextOf(key)).toString()) as PrivacySubject;
  }

  sealPart(content: Buffer, key: PartKey): Buffer {
    return this.ring.encrypt(content, contextOfPart(key));
  }

  /** @throws DecryptionError */
  openPart(sealed: Buffer, key: PartKey): Buffer {
    return this.ring.decrypt(sealed, contextOfPart(key));
  }

  /** Whether it opens, by the key that it names. */
  knows(sealed: Buffer): boolean {
    return this.ring.knows(sealed);
  }

  /** Whether it is sealed under the present master key. */
  isCurrent(sealed: Buffer): boolean {
    return this.ring.isCurrent(sealed);
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
