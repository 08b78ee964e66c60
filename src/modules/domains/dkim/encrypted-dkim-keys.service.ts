import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { Clock, MINUTE, SECOND } from '../../../common/clock';
import { type EncryptedRecords, masterKeysAfter } from '../../../common/encryption/re-encrypt';
import { OperatorError, UnavailableError } from '../../../common/errors/app-error';
import { AppConfig } from '../../../config/config';
import { MasterKeyRecord } from '../../../database/installation/installation.repository';
import { DkimKeyring } from './dkim-keyring';
import { DkimKeysRepository, type EncryptedKeyRow } from './dkim-keys.repository';

/** Whether the master key fits some of the keys in this database. */
interface SampleOfKeys {
  readonly tried: number;
  /** Number of keys encrypted under a master key of this process. */
  readonly known: number;
  readonly opened: number;
}

/** Sample size: a wrong master key decrypts no key at all, so a few are enough. */
const SAMPLE = 20;
const PAGE = 100;

/** The encrypted private DKIM keys of all organizations: checks and changes of the master key. */
@Injectable()
export class EncryptedDkimKeysService {
  constructor(
    private readonly keys: DkimKeysRepository,
    private readonly keyring: DkimKeyring,
    private readonly config: AppConfig,
  ) {}

  /** Tries the master key on a few keys. */
  async sample(): Promise<SampleOfKeys> {
    const rows = await this.keys.listEncrypted(SAMPLE);
    return {
      tried: rows.length,
      known: rows.filter(({ encrypted }) => this.keyring.knows(encrypted)).length,
      opened: rows.filter((row) => decrypts(this.keyring, row)).length,
    };
  }

  /** All keys, to be re-encrypted under this master key; their names are `<domain id>/<selector>`. */
  recordsUnder(masterKey: Buffer): EncryptedRecords<EncryptedKeyRow> {
    const keyring = new DkimKeyring({ ...this.config, ...masterKeysAfter(masterKey, this.config) });
    return {
      rows: () => this.rows(),
      nameOf: ({ domainId, selector }) => `${domainId}/${selector}`,
      isCurrent: ({ encrypted }) => keyring.isCurrent(encrypted),
      decrypt: (row) => keyring.decrypt(row.encrypted, row),
      reEncrypt: async (row) => {
        const reEncrypted = keyring.encrypt(keyring.decrypt(row.encrypted, row), row);
        return (await this.keys.replaceEncrypted([{ ...row, reEncrypted }])) === 1;
      },
    };
  }

  private async *rows(): AsyncGenerator<EncryptedKeyRow> {
    let page = await this.keys.listEncrypted(PAGE);
    while (page.length > 0) {
      yield* page;
      page = await this.keys.listEncrypted(PAGE, page.at(-1));
    }
  }
}

function decrypts(keyring: DkimKeyring, row: EncryptedKeyRow): boolean {
  try {
    keyring.decrypt(row.encrypted, row);
    return true;
  } catch {
    return false;
  }
}

/** How long to wait for the database: it was available when the process started, so a restart of it must not fail the start. */
const WAIT_MS = MINUTE;
const RETRY_MS = SECOND / 4;

/** What to do about a key that is not the recorded one. */
const OTHER_KEY =
  'MASTER_KEY is not the key that other processes of this database use, or used last. Set that one, as MASTER_KEY or, while the key ' +
  'is being changed, as MASTER_KEY_PREVIOUS. If this one is right, run `waybill keys re-encrypt` with it';

/**
 * Refuses to start a process with a master key that does not belong to this database: it could send no mail, would encrypt
 * new keys that no other process can decrypt, and would issue return paths that other processes refuse.
 */
@Injectable()
export class MasterKeyCheck implements OnModuleInit {
  constructor(
    private readonly keys: EncryptedDkimKeysService,
    private readonly record: MasterKeyRecord,
    private readonly clock: Clock,
  ) {}

  /** @throws OperatorError when the process has none of the keys in use; a single damaged DKIM key does not matter */
  async onModuleInit(): Promise<void> {
    const { tried, known } = await this.whileUnavailable(() => this.keys.sample());
    if (tried > 0 && known === 0) {
      throw new OperatorError(
        'MASTER_KEY decrypts none of the DKIM keys in this database: they were encrypted under another key. Set that one, as ' +
          'MASTER_KEY or, while the key is being changed, as MASTER_KEY_PREVIOUS. After an interrupted restore, restore again',
      );
    }
    if (await this.whileUnavailable(() => this.record.adopt())) return;
    if (tried === 0) throw new OperatorError(OTHER_KEY);
    // It can send mail: in a change of the key whose steps were taken in another order it must not stay away.
    Logger.error(OTHER_KEY, 'MasterKey');
  }

  /** @throws UnavailableError when the database stays unavailable */
  private async whileUnavailable<T>(read: () => Promise<T>): Promise<T> {
    for (const untilMs = this.clock.monotonicMs() + WAIT_MS; ;) {
      try {
        return await read();
      } catch (error) {
        if (!(error instanceof UnavailableError) || this.clock.monotonicMs() >= untilMs) throw error;
        await delay(RETRY_MS);
      }
    }
  }
}
