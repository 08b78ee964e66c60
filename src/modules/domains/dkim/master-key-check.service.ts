import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Clock, MINUTE, SECOND } from '../../../common/clock';
import { UnavailableError } from '../../../common/errors/app-error';
import { EncryptedDkimKeysService, type SampleOfKeys } from './encrypted-dkim-keys.service';

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

  /** @throws when there are keys and none of a few is encrypted under a key of ours; a damaged one is no reason. */
  async onModuleInit(): Promise<void> {
    const { tried, known } = await this.sample();
    if (tried === 0 || known > 0) return;
    throw new Error(
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
