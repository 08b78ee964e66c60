import { Injectable, type OnModuleInit } from '@nestjs/common';
import { EncryptedDkimKeysService } from './encrypted-dkim-keys.service';

/**
 * Keeps a process from starting with a master key that is not this database's: it would leave all mail unsent, encrypt
 * new keys that no other process decrypts, and issue return paths that are refused.
 */
@Injectable()
export class MasterKeyCheck implements OnModuleInit {
  constructor(private readonly keys: EncryptedDkimKeysService) {}

  /** @throws when there are keys and none of a few is encrypted under a key of ours; a damaged one is no reason. */
  async onModuleInit(): Promise<void> {
    const { tried, known } = await this.keys.sample();
    if (tried === 0 || known > 0) return;
    throw new Error(
      'MASTER_KEY opens none of the DKIM keys in this database: they were sealed under another key. Set that one, as ' +
        'MASTER_KEY or, while the key is being changed, as MASTER_KEY_PREVIOUS',
    );
  }
}
