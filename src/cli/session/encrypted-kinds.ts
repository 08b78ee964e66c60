import type { EncryptedRecords } from '../../common/encryption/re-encrypt';
import { EncryptedDkimKeysService } from '../../modules/domains/dkim/encrypted-dkim-keys.service';
import { EncryptedPrivacyService } from '../../modules/privacy/requests/privacy-keyring.service';
import { AddressHashing } from '../../modules/suppressions/address-hashing.service';
import { EncryptedSecretsService } from '../../modules/webhooks/endpoints/webhook-secrets.service';
import type { Services } from './cli-session';

/** One kind of data that is encrypted under the master key, and how the command's report speaks of it. */
export interface EncryptedKind {
  /** As it is called in a message. */
  readonly what: string;
  /** Fields of the report: how many there are, and how many were encrypted again. */
  readonly counted: string;
  readonly written: string;
  /** Field of the error: those that do not decrypt. */
  readonly named: string;
  readonly records: EncryptedRecords<unknown>;
}

/** All of them, at a change to this master key. */
export function encryptedKinds(services: Services, masterKey: Buffer): EncryptedKind[] {
  return [
    {
      ...{ what: 'DKIM keys', counted: 'keys', written: 'reEncrypted', named: 'domains' },
      records: services.get(EncryptedDkimKeysService).recordsUnder(masterKey),
    },
    {
      ...{ what: 'webhook secrets', counted: 'webhooks', written: 'webhooksReEncrypted', named: 'ids' },
      records: services.get(EncryptedSecretsService).recordsUnder(masterKey),
    },
    // Their subjects, and the parts of their results.
    {
      ...{ what: 'privacy records', counted: 'privacyRecords', written: 'privacyRecordsReEncrypted', named: 'ids' },
      records: services.get(EncryptedPrivacyService).recordsUnder(masterKey),
    },
    // Of the suppressions of erased addresses.
    {
      ...{ what: 'hash keys', counted: 'hashKeys', written: 'hashKeysReEncrypted', named: 'organizations' },
      records: services.get(AddressHashing).recordsUnder(masterKey),
    },
  ];
}
