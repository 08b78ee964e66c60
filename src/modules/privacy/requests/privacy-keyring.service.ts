import { createHmac } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { deriveKey, Keyring } from '../../../common/encryption/encryption';
import { addressKeys } from '../../../common/address-forms';
import { addressKey } from '../../../common/mail-address';
import { AppConfig } from '../../../config/config';
import type { PartKey, RequestKey } from './privacy-request.entity';
import { type EncryptedRecords, masterKeysAfter } from '../../../common/encryption/re-encrypt';
import { PrivacyExportPartsRepository, PrivacyRequestsRepository } from './privacy-requests.repository';
import type { EncryptedPart, EncryptedSubject } from './sql/privacy-requests.sql';

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
    return hmac(this.hashKeys[0], addressKey(email));
  }

  /** The hashes of each form of the address by the current and the previous master key, to search for. */
  hashesOf(email: string): Buffer[] {
    return addressKeys(email).flatMap((form) => this.hashKeys.map((key) => hmac(key, form)));
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

function hmac(key: Buffer, form: string): Buffer {
  return createHmac('sha256', key).update(form).digest();
}

function contextOf({ organizationId, mode, id }: RequestKey): string {
  return `${organizationId}|${mode}|${id}`;
}

function contextOfPart(key: PartKey): string {
  return `${contextOf(key)}|${key.section}|${key.part}`;
}

const SUBJECTS = 100;
/** Parts per page, of about 1 MiB each. */
const PARTS = 16;

type Row = EncryptedSubject | EncryptedPart;

/** Re-encrypts the subjects and results of all organizations' privacy requests when the master key changes. */
@Injectable()
export class EncryptedPrivacyService {
  constructor(
    private readonly requests: PrivacyRequestsRepository,
    private readonly parts: PrivacyExportPartsRepository,
    private readonly config: AppConfig,
  ) {}

  /** @param masterKey the new key */
  recordsUnder(masterKey: Buffer): EncryptedRecords<Row> {
    const keyring = new PrivacyKeyring({ ...this.config, ...masterKeysAfter(masterKey, this.config) });
    return {
      rows: () => this.rows(),
      nameOf: ({ id }) => id,
      isCurrent: (row) => keyring.isCurrent(isPart(row) ? row.content : row.subject),
      decrypt: (row) =>
        isPart(row) ? keyring.decryptPart(row.content, row) : keyring.decryptSubject(row.subject, row),
      reEncrypt: (row) => (isPart(row) ? this.reEncryptPart(row, keyring) : this.reEncryptSubject(row, keyring)),
    };
  }

  private async *rows(): AsyncGenerator<Row> {
    let subjects = await this.requests.encryptedSubjects(SUBJECTS);
    while (subjects.length > 0) {
      yield* subjects;
      subjects = await this.requests.encryptedSubjects(SUBJECTS, subjects.at(-1));
    }
    let parts = await this.parts.encrypted(PARTS);
    while (parts.length > 0) {
      yield* parts;
      parts = await this.parts.encrypted(PARTS, parts.at(-1));
    }
  }

  /** Re-encrypts a subject and renews its hash, which depends on the master key too. */
  private reEncryptSubject(row: EncryptedSubject, keyring: PrivacyKeyring): Promise<boolean> {
    const subject = keyring.decryptSubject(row.subject, row);
    return this.requests.replaceSubject(row, keyring.encryptSubject(subject, row), keyring.hashOf(subject.email));
  }

  private reEncryptPart(row: EncryptedPart, keyring: PrivacyKeyring): Promise<boolean> {
    return this.parts.replace(row, keyring.encryptPart(keyring.decryptPart(row.content, row), row));
  }
}

function isPart(row: Row): row is EncryptedPart {
  return 'content' in row;
}
