import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { In, IsNull, type Repository } from 'typeorm';
import type { Transaction } from '../../database/transaction';
import { Domain, type SendingState, type WarmingStatus } from './domain.entity';

/** What a domain is compared with before it changes. */
export interface ExpectedState {
  readonly warmingStatus?: readonly WarmingStatus[];
  readonly sending?: Pick<SendingState, 'status' | 'reason'>;
}

export type DomainChange = Partial<Omit<Domain, 'sending'>> & { readonly sending?: Partial<SendingState> };

@Injectable()
export class DomainTransitionsRepository {
  constructor(@InjectRepository(Domain) private readonly domains: Repository<Domain>) {}

  /** For the operator, who names a domain by its id alone; reads the whole table. */
  findAnywhere(id: string): Promise<Domain | null> {
    return this.domains.findOneBy({ id });
  }

  /** Answers false when the domain is not as expected any more. */
  async change(
    { organizationId, id }: Domain,
    { warmingStatus, sending }: ExpectedState,
    change: DomainChange,
    tx: Transaction,
  ): Promise<boolean> {
    const expected = {
      ...(warmingStatus && { warmingStatus: In([...warmingStatus]) }),
      ...(sending && { sending: { status: sending.status, reason: sending.reason ?? IsNull() } }),
    };
    const { affected } = await tx.manager.update(Domain, { organizationId, id, ...expected }, change);
    return affected === 1;
  }
}
