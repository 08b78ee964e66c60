import { Module } from '@nestjs/common';
import { PublicKeysModule } from '../domains/dkim/public-keys.module';
import { DkimZoneLimits } from './dkim-zone-limits';
import { DkimZoneMetrics } from './dkim-zone.metrics';
import { DkimZoneServer } from './dkim-zone.server';
import { DkimZoneService } from './dkim-zone.service';

/** Role `dns`: importing it starts the responder with the application. */
@Module({
  imports: [PublicKeysModule],
  providers: [DkimZoneLimits, DkimZoneMetrics, DkimZoneServer, DkimZoneService],
  exports: [DkimZoneServer],
})
export class DkimZoneModule {}
