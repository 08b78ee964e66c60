import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Clock } from '../../common/clock';
import { AppConfig } from '../../config/config';
import { EgressPools } from './egress-pools';
import { EgressRepository } from './egress.repository';
import { EgressService } from './egress.service';
import { EgressSuspension } from './egress-suspension.entity';
import { readEgressPools } from './pool-file';

/** The addresses that mail leaves from. A bad file ends the start. */
@Module({
  imports: [TypeOrmModule.forFeature([EgressSuspension])],
  providers: [
    EgressRepository,
    EgressService,
    {
      provide: EgressPools,
      inject: [AppConfig, Clock],
      useFactory: ({ delivery: { egressPools: file } }: AppConfig, clock: Clock) =>
        new EgressPools(file === undefined ? [] : readEgressPools(file), clock),
    },
  ],
  exports: [EgressPools, EgressRepository, EgressService],
})
export class EgressModule {}
