import { Injectable } from '@nestjs/common';
import type { Transaction } from '../../database/transaction';
import type { DeliveryKey } from '../../delivery/ports/delivery';
import { InboundRepository } from './inbound.repository';

/** Removes what receiving servers have reported on deliveries whose recipients are erased. */
@Injectable()
export class ReportErasure {
  constructor(private readonly reports: InboundRepository) {}

  /** Answers how many reports there were; those that nobody has read yet among them. */
  async erase(deliveries: readonly DeliveryKey[], tx: Transaction): Promise<number> {
    return deliveries.length === 0 ? 0 : this.reports.deleteOf(deliveries, tx);
  }
}
