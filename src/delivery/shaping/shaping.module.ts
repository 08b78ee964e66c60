import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DestinationReport, DestinationRule } from './destination.entity';
import { DestinationsRepository } from './destinations.repository';
import { DestinationsService } from './destinations.service';

/** What is known of groups of destinations, and the rules for them: of workers and of operators. */
@Module({
  imports: [TypeOrmModule.forFeature([DestinationReport, DestinationRule])],
  providers: [DestinationsRepository, DestinationsService],
  exports: [DestinationsRepository, DestinationsService],
})
export class ShapingModule {}
