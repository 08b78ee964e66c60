import { Module } from '@nestjs/common';
import { MasterKeyCheck } from './master-key-check';
import { SealedKeysModule } from './sealed-keys.module';

/** Part of every process that opens, seals or signs. */
@Module({ imports: [SealedKeysModule], providers: [MasterKeyCheck] })
export class MasterKeyCheckModule {}
