import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Clock, MINUTE, SECOND } from '../../../common/clock';
import { type EncryptedRecords, masterKeysAfter } from '../../../common/encryption/re-encrypt';
import { OperatorError, UnavailableError } from '../../../common/errors/app-error';
import { AppConfig } from '../../../config/config';
import { DkimKeyring } from './dkim-keyring';
import { DkimKeysRepository, type EncryptedKeyRow } from './dkim-keys.repository';

/** What the master key can do for some of the keys in this database. */
interface SampleOfKeys {
  readonly tried: number;
  /** Encrypted under a master key that this process has. */
  readonly known: number;
  readonly opened: number;
}

/** A wrong master key decrypts none of them, so a few are enough. */
const SAMPLE = 20;
const PAGE = 100;

/** The private DKIM keys of all organizations, as they are stored: for the operator of the master key. */
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

  /** All keys, at a change to this master key. A key is named `<domain id>/<selector>`. */
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

/** The database was there when the process began to start: a restart of it just now is no reason to fail. */
const WAIT_MS = MINUTE;
const RETRY_MS = SECOND / 4;

/**
 * Keeps a process from starting with a master key that is not this database's: it would leave all mail unsent, encrypt
 * new keys that no other process decrypts, and issue return paths that are refused.
 */
@Injectable()
export class MasterKeyCheck implements OnModuleInit {
  constructor(
    private readonly keys: EncryptedDkimKeysService,
    private readonly clock: Clock,
  ) {}

  /** @throws when there are keys and none of a sample is encrypted under our keys; a single damaged one does not matter. */
  async onModuleInit(): Promise<void> {
    const { tried, known } = await this.sample();
    if (tried === 0 || known > 0) return;
    throw new OperatorError(
      'MASTER_KEY decrypts none of the DKIM keys in this database: they were encrypted under another key. Set that one, as ' +
        'MASTER_KEY or, while the key is being changed, as MASTER_KEY_PREVIOUS',
    );
  }

  /** @throws UnavailableError when the database stays away */
  private async sample(): Promise<SampleOfKeys> {
    for (const untilMs = this.clock.monotonicMs() + WAIT_MS; ;) {
      try {
        return await this.keys.sample();
      } catch (error) {
        if (!(error instanceof UnavailableError) || this.clock.monotonicMs() >= untilMs) throw error;
        await delay(RETRY_MS);
      }
    }
  }
}
