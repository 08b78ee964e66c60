import { Module } from '@nestjs/common';
import { PublishedKeysRepository } from './published-keys.repository';
import { PublishedKeysService } from './published-keys.service';

/** Public keys only, apart from the rest of the domains: the DNS responder needs no master key and runs no checks. */
@Module({
  providers: [PublishedKeysRepository, PublishedKeysService],
  exports: [PublishedKeysService],
})
export class PublishedKeysModule {}
