import { Module } from '@nestjs/common';
import { SuppressionsRepository } from './suppressions.repository';
import { SuppressionsService } from './suppressions.service';

@Module({ providers: [SuppressionsRepository, SuppressionsService], exports: [SuppressionsService] })
export class SuppressionsModule {}
