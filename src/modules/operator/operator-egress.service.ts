import { Injectable } from '@nestjs/common';
import { AuditService, INSTALLATION } from '../../audit/audit.service';
import type { Transaction } from '../../database/transaction';
import { EgressService, type ShownAddress } from '../../delivery/egress/egress.service';

/** The addresses that mail leaves from, as operators change them. */
@Injectable()
export class OperatorEgressService {
  constructor(
    private readonly egress: EgressService,
    private readonly audit: AuditService,
  ) {}

  list() {
    return this.egress.list();
  }

  /** @throws NotFoundError */
  changeWarmUp(address: string, change: 'skip' | 'restart', actor: string): Promise<ShownAddress> {
    const name = address.toLowerCase();
    return this.egress.changeWarmUp(name, change === 'skip', (tx) =>
      this.record(name, `egress.warm_up_${change === 'skip' ? 'skipped' : 'restarted'}`, { actor, data: {} }, tx),
    );
  }

  /** Returns the receivers. @param key one of them; undefined: all. @throws NotFoundError */
  release(address: string, key: string | undefined, actor: string): Promise<string[]> {
    const name = address.toLowerCase();
    return this.egress.release(name, key, (destinations, tx) =>
      this.record(name, 'egress.released', { actor, data: { destinations } }, tx),
    );
  }

  private record(
    address: string,
    action: string,
    said: { actor: string; data: object },
    tx: Transaction,
  ): Promise<void> {
    const target = { targetType: 'egress_address', targetId: address };
    return this.audit.record([{ organizationId: INSTALLATION, action, ...said, ...target }], tx);
  }
}
