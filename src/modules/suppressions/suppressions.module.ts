import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditModule } from '../../audit/audit.module';
import { AddressHashing } from './hashing/address-hashing.service';
import { HashKeysRepository } from './hashing/hash-keys.repository';
import { SealedHashKeys } from './hashing/sealed-hash-keys.service';
import { SuppressionErasure } from './hashing/suppression-erasure.service';
import { SuppressionHashKey } from './hashing/suppression-hash-key.entity';
import { SuppressionLookup } from './hashing/suppression-lookup.service';
import { Suppression } from './suppression.entity';
import { SuppressionListRepository } from './suppression-list.repository';
import { SuppressionListService } from './suppression-list.service';
import { SuppressionsController } from './suppressions.controller';
import { SuppressionsRepository } from './suppressions.repository';
import { SuppressionsService } from './suppressions.service';

@Module({
  imports: [TypeOrmModule.forFeature([Suppression, SuppressionHashKey]), AuditModule],
  controllers: [SuppressionsController],
  providers: [
    ...[AddressHashing, HashKeysRepository, SealedHashKeys, SuppressionErasure, SuppressionLookup],
    ...[SuppressionListRepository, SuppressionListService, SuppressionsRepository, SuppressionsService],
  ],
  exports: [SealedHashKeys, SuppressionErasure, SuppressionListService, SuppressionsRepository, SuppressionsService],
})
export class SuppressionsModule {}
