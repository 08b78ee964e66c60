import { Module } from '@nestjs/common';
import { SealedSecretsRepository } from './sealed-secrets.repository';
import { SealedSecretsService } from './sealed-secrets.service';

/** For operators: the sealed webhook secrets of all organizations. */
@Module({
  providers: [SealedSecretsRepository, SealedSecretsService],
  exports: [SealedSecretsService],
})
export class SealedSecretsModule {}
