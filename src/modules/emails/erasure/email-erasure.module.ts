import { Module } from '@nestjs/common';
import { DeliveryQueueModule } from '../../../delivery/queue/delivery-queue.module';
import { EmailsModule } from '../emails.module';
import { EmailErasureRepository } from './email-erasure.repository';
import { EmailErasure } from './email-erasure.service';

/** For whoever runs erasures. */
@Module({
  imports: [DeliveryQueueModule, EmailsModule],
  providers: [EmailErasure, EmailErasureRepository],
  exports: [EmailErasure],
})
export class EmailErasureModule {}
