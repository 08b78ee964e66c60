import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { In, Not, type Repository } from 'typeorm';
import type { Transaction } from '../../database/transaction';
import { DkimKey } from './dkim-key.entity';
import { Domain } from './domain.entity';

@Injectable()
export class DomainsRepository {
  constructor(
    @InjectRepository(Domain) private readonly domains: Repository<Domain>,
    @InjectRepository(DkimKey) private readonly keys: Repository<DkimKey>,
  ) {}

  async insert(domain: Domain, key: DkimKey, tx: Transaction): Promise<void> {
    await tx.manager.insert(Domain, domain);
    await tx.manager.insert(DkimKey, key);
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

  hasAny(organizationId: string): Promise<boolean> {
    return this.domains.existsBy({ organizationId });
  }

  /** True when another organization has verified the name. */
  isVerifiedElsewhere(organizationId: string, domain: string): Promise<boolean> {
    return this.domains.existsBy({ domain, verificationStatus: 'verified', organizationId: Not(organizationId) });
  }

  async markVerified(organizationId: string, id: string, at: Date): Promise<void> {
    await this.domains.update(
      { organizationId, id },
      { verificationStatus: 'verified', verifiedAt: at, dkimStatus: 'verified', updatedAt: at },
    );
  }

  findActiveKeys(owners: readonly { organizationId: string; domainId: string }[]): Promise<DkimKey[]> {
    return this.keys.findBy({
      organizationId: In([...new Set(owners.map((owner) => owner.organizationId))]),
      domainId: In(owners.map((owner) => owner.domainId)),
      state: 'active',
    });
  }

  findNames(owners: readonly { organizationId: string; domainId: string }[]): Promise<Pick<Domain, 'id' | 'domain'>[]> {
    return this.domains.find({
      select: { id: true, domain: true },
      where: {
        organizationId: In([...new Set(owners.map((owner) => owner.organizationId))]),
        id: In(owners.map((owner) => owner.domainId)),
      },
    });
  }
}
