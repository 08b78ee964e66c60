import { Module } from '@nestjs/common';
import { DkimVault } from './dkim-vault';
import { SealedKeysRepository } from './sealed-keys.repository';
import { SealedKeysService } from './sealed-keys.service';

/** For operators: the sealed keys of all organizations. */
@Module({
  providers: [DkimVault, SealedKeysRepository, SealedKeysService],
  exports: [SealedKeysService],
})
export class SealedKeysModule {}
