import { type EncryptedRecords, examine, reEncrypt } from '../common/encryption/re-encrypt';
import { EncryptedDkimKeysService } from '../modules/domains/dkim/encrypted-dkim-keys.service';
import { EncryptedPrivacyService } from '../modules/privacy/requests/encrypted-privacy.service';
import { AddressHashing } from '../modules/suppressions/address-hashing.service';
import { EncryptedSecretsService } from '../modules/webhooks/encrypted-secrets.service';
import type { Services } from './session/cli-session';

/** A kind of thing that is sealed under the master key. */
export interface SealedKind {
  /** As it is called in a message. */
  readonly what: string;
  /** Fields of the report: how many there are, and how many were sealed again. */
  readonly counted: string;
  readonly resealed: string;
  /** Field of the error: those that do not open. */
  readonly named: string;
  /** How many there are, and which of them do not open. Changes nothing. */
  readonly examine: () => Promise<{ readonly total: number; readonly closed: readonly string[] }>;
  /** Seals again what is not sealed under the new master key; answers how many. */
  readonly reseal: () => Promise<number>;
}

/** All of them, at a change to this master key. */
export function sealedKinds(services: Services, masterKey: Buffer): SealedKind[] {
  return [dkimKeys, webhookSecrets, privacyRequests, hashKeys].map((kindOf) => kindOf(services, masterKey));
}

function dkimKeys(services: Services, masterKey: Buffer): SealedKind {
  return {
    ...{ what: 'DKIM keys', counted: 'keys', resealed: 'resealed', named: 'domains' },
    ...actionsOn(services.get(EncryptedDkimKeysService).recordsUnder(masterKey)),
  };
}

function webhookSecrets(services: Services, masterKey: Buffer): SealedKind {
  return {
    ...{ what: 'webhook secrets', counted: 'webhooks', resealed: 'webhooksResealed', named: 'ids' },
    ...actionsOn(services.get(EncryptedSecretsService).recordsUnder(masterKey)),
  };
}

/** Their subjects, and the parts of their results. */
function privacyRequests(services: Services, masterKey: Buffer): SealedKind {
  return {
    ...{ what: 'privacy records', counted: 'privacyRecords', resealed: 'privacyRecordsResealed', named: 'ids' },
    ...actionsOn(services.get(EncryptedPrivacyService).recordsUnder(masterKey)),
  };
}

/** Of the suppressions of erased addresses. */
function hashKeys(services: Services, masterKey: Buffer): SealedKind {
  return {
    ...{ what: 'hash keys', counted: 'hashKeys', resealed: 'hashKeysResealed', named: 'organizations' },
    ...actionsOn(services.get(AddressHashing).recordsUnder(masterKey)),
  };
}

function actionsOn<Row>(records: EncryptedRecords<Row>): Pick<SealedKind, 'examine' | 'reseal'> {
  return {
    examine: async () => {
      const { total, unreadable } = await examine(records);
      return { total, closed: unreadable };
    },
    reseal: () => reEncrypt(records),
  };
}
