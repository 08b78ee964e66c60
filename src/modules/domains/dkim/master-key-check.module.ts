import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DkimKey } from './dkim-key.entity';
import { DkimKeyring } from './dkim-keyring';
import { DkimKeysRepository } from './dkim-keys.repository';
import { EncryptedDkimKeysService, MasterKeyCheck } from './encrypted-dkim-keys.service';

/**
 * Part of every process that encrypts, decrypts or signs. Apart from the rest of the domains: the role `inbound` needs no
 * more of them, and the command line, which repairs a wrong master key, must start without the check.
 */
@Module({
  imports: [TypeOrmModule.forFeature([DkimKey])],
  providers: [DkimKeyring, DkimKeysRepository, EncryptedDkimKeysService, MasterKeyCheck],
})
export class MasterKeyCheckModule {}
