import { Injectable } from '@nestjs/common';
import { type EncryptedRecords, masterKeysAfter } from '../../../common/encryption/re-encrypt';
import { AppConfig } from '../../../config/config';
import { PrivacyExportPartsRepository, PrivacyRequestsRepository } from './privacy-requests.repository';
import { PrivacyKeyring } from './privacy-keyring.service';
import type { EncryptedPart, EncryptedSubject } from './sql/privacy-requests.sql';

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
