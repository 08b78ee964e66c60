import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Any, In, type Repository } from 'typeorm';
import type { Transaction } from '../../database/transaction';
import { DkimKey } from './dkim/dkim-key.entity';
import { Domain } from './domain.entity';
import { DomainCheck } from './domain-check.entity';
import { RemovedDomain, removedDomain } from './removed-domain.entity';
import { lockDomainList } from './sql/lock-domain-list.sql';

export interface DomainFilter {
  /** Only this one. */
  readonly id: string | undefined;
  readonly skip: number;
  readonly take: number;
}

@Injectable()
export class DomainsRepository {
  constructor(
    @InjectRepository(Domain) private readonly domains: Repository<Domain>,
    @InjectRepository(RemovedDomain) private readonly removed: Repository<RemovedDomain>,
  ) {}

  /** Holds back other changes to which domains the organization has, and which is its default, until the end. */
  async lockList(organizationId: string, tx: Transaction): Promise<void> {
    await tx.run(lockDomainList(organizationId));
  }

  /** Holds back other changes to one domain; null when it is not there. */
  lock(organizationId: string, id: string, tx: Transaction): Promise<Domain | null> {
    return tx.manager.findOne(Domain, { where: { organizationId, id }, lock: { mode: 'pessimistic_write' } });
  }

  async insert(domain: Domain, key: DkimKey, tx: Transaction): Promise<void> {
    const { organizationId, domain: name } = domain;
    await tx.manager.delete(RemovedDomain, { organizationId, domain: name });
    await tx.manager.insert(Domain, domain);
    await tx.manager.insert(DkimKey, key);
  }

  findRemoved(organizationId: string, domain: string): Promise<RemovedDomain | null> {
    return this.removed.findOneBy({ organizationId, domain });
  }

  /** Those of removed domains that are remembered too. */
  async findNames(organizationId: string, ids: readonly string[]): Promise<{ id: string; domain: string }[]> {
    const named = { select: { id: true, domain: true }, where: { organizationId, id: Any(ids) } };
    return (await Promise.all([this.removed.find(named), this.domains.find(named)])).flat();
  }

  findForSending(organizationId: string, domain: string | undefined): Promise<Domain | null> {
    return this.domains.findOneBy(
      domain === undefined ? { organizationId, isDefault: true } : { organizationId, domain },
    );
  }

  find(organizationId: string, id: string): Promise<Domain | null> {
    return this.domains.findOneBy({ organizationId, id });
  }

  list(organizationId: string): Promise<Domain[]> {
    return this.domains.find({ where: { organizationId }, order: { id: 'ASC' } });
  }

  /** Oldest first, with how many there are. */
  page(organizationId: string, filter: DomainFilter): Promise<[Domain[], number]> {
    const { id, skip, take } = filter;
    const where = { organizationId, ...(id !== undefined && { id }) };
    return this.domains.findAndCount({ where, order: { id: 'ASC' }, skip, take });
  }

  count(organizationId: string, tx: Transaction): Promise<number> {
    return tx.manager.countBy(Domain, { organizationId });
  }

  /** For the operator: of every organization that has it, oldest first. */
  findAnywhere(domain: string): Promise<Domain[]> {
    return this.domains.find({ where: { domain }, order: { id: 'ASC' } });
  }

  /** True when the organization has the name, or another one has it verified. */
  isTaken(organizationId: string, domain: string): Promise<boolean> {
    return this.domains.existsBy([
      { organizationId, domain },
      { domain, verificationStatus: 'verified' },
    ]);
  }

  async markVerified(organizationId: string, id: string, at: Date, tx: Transaction): Promise<void> {
    await tx.manager.update(
      Domain,
      { organizationId, id },
      { verificationStatus: 'verified', verifiedAt: at, dkimStatus: 'verified', updatedAt: at },
    );
  }

  /** First takes the mark from whichever has it: a unique index holds at every moment. */
  async makeDefault(organizationId: string, id: string, at: Date, tx: Transaction): Promise<void> {
    await tx.manager.update(Domain, { organizationId, isDefault: true }, { isDefault: false, updatedAt: at });
    await tx.manager.update(Domain, { organizationId, id }, { isDefault: true, updatedAt: at });
  }

  /** The next look at the records is due at once. */
  async noteRotation({ organizationId, domainId, selector, createdAt }: DkimKey, tx: Transaction): Promise<void> {
    const change = { dkimSelector: selector, nextCheckAt: createdAt, updatedAt: createdAt };
    await tx.manager.update(Domain, { organizationId, id: domainId }, change);
  }

  /** With its keys and what is known of its records; one that has sent, or is held back, is remembered. */
  async delete(domain: Domain, at: Date, tx: Transaction): Promise<void> {
    const { organizationId, id } = domain;
    const isFresh = domain.warmingStatus === 'not_started' && domain.sending.status === 'active';
    if (!isFresh) await tx.manager.insert(RemovedDomain, removedDomain(domain, at));
    await tx.manager.delete(DomainCheck, { organizationId, domainId: id });
    await tx.manager.delete(DkimKey, { organizationId, domainId: id });
    await tx.manager.delete(Domain, { organizationId, id });
  }

  findSenders(
    owners: readonly { organizationId: string; domainId: string }[],
  ): Promise<Pick<Domain, 'id' | 'domain' | 'returnPathVerified' | 'trackingVerified' | 'sending'>[]> {
    return this.domains.find({
      select: { id: true, domain: true, returnPathVerified: true, trackingVerified: true, sending: { status: true } },
      where: {
        organizationId: In([...new Set(owners.map((owner) => owner.organizationId))]),
        id: In(owners.map((owner) => owner.domainId)),
      },
    });
  }
}
