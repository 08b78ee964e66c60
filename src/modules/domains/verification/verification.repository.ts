import { Injectable } from '@nestjs/common';
import { In, Not } from 'typeorm';
import type { Transaction } from '../../../database/transaction';
import { DomainCheck } from '../domain-check.entity';
import { Domain } from '../domain.entity';
import type { RecordState } from './record-state';

type Owner = Pick<DomainCheck, 'organizationId' | 'domainId'>;

/** What a look at the DNS is compared with and what it changes, in one transaction. */
@Injectable()
export class VerificationRepository {
  /** Holds back other changes to the domain; null when it is not there. */
  lock({ organizationId, domainId }: Owner, tx: Transaction): Promise<Domain | null> {
    return tx.manager.findOne(Domain, {
      where: { organizationId, id: domainId },
      lock: { mode: 'pessimistic_write' },
    });
  }

  checksOf({ organizationId, domainId }: Owner, tx: Transaction): Promise<DomainCheck[]> {
    return tx.manager.findBy(DomainCheck, { organizationId, domainId });
  }

  isVerifiedElsewhere({ organizationId, domain }: Domain, tx: Transaction): Promise<boolean> {
    return tx.manager.existsBy(Domain, { domain, verificationStatus: 'verified', organizationId: Not(organizationId) });
  }

  /** Forgets the records that are not asked for any more. */
  async saveStates(owner: Owner, states: readonly RecordState[], checkedAt: Date, tx: Transaction): Promise<void> {
    const { organizationId, domainId } = owner;
    await tx.manager.delete(DomainCheck, { organizationId, domainId, host: Not(In(states.map(({ host }) => host))) });
    const rows = states.map((state) => ({ ...state, organizationId, domainId, checkedAt }));
    await tx.manager.upsert(DomainCheck, rows, ['organizationId', 'domainId', 'purpose', 'host']);
  }

  /** Its statuses and times; what else there is about a domain is not this transaction's to write. */
  async saveDomain({ organizationId, id, ...domain }: Domain, tx: Transaction): Promise<void> {
    const { verificationStatus, verifiedAt, dkimStatus, returnPathVerified, trackingVerified } = domain;
    const { verificationFailingSince, dkimFailingSince, lastCheckedAt, nextCheckAt, updatedAt } = domain;
    await tx.manager.update(
      Domain,
      { organizationId, id },
      {
        ...{ verificationStatus, verifiedAt, dkimStatus, returnPathVerified, trackingVerified },
        ...{ verificationFailingSince, dkimFailingSince, lastCheckedAt, nextCheckAt, updatedAt },
      },
    );
  }
}
