import { Module } from '@nestjs/common';
import { KnownKeysRepository } from './known-keys.repository';
import { KnownKeysService } from './known-keys.service';

/** Public keys by name, apart from all that needs the master key. */
@Module({ providers: [KnownKeysRepository, KnownKeysService], exports: [KnownKeysService] })
export class KnownKeysModule {}
