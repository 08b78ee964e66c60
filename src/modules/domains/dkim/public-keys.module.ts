import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DkimKey } from './dkim-key.entity';
import { DkimKeysRepository } from './dkim-keys.repository';
import { PublicKeysService } from './public-keys.service';

/**
 * Public keys only, separate from the rest of the domains: the DNS responder (role `dns`) and the recognition of this
 * service's own mail need no master key and run no DNS checks.
 */
@Module({
  imports: [TypeOrmModule.forFeature([DkimKey])],
  providers: [DkimKeysRepository, PublicKeysService],
  exports: [PublicKeysService],
})
export class PublicKeysModule {}
