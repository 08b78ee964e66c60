import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { And, Any, Equal, type FindOptionsWhere, In, IsNull, MoreThan, Not, Raw, type Repository } from 'typeorm';
import { acrossTenants } from '../../../common/tenant';
import { Database } from '../../../database/pool/database.service';
import { lockList } from '../../../database/statements/locks.sql';
import type { Transaction } from '../../../database/statements/transaction';
import { DomainCheck } from './domain-check.entity';
import { storedPart } from './domain-name';
import {
  Domain,
  RemovedDomain,
  removedDomain,
  type SendingState,
  type VerificationStatus,
  type WarmingStatus,
} from './domain.entity';
import {
  countDueDomains,
  type DueDomain,
  type DueDomains,
  listDueOwners,
  listInboundHosts,
  takeDueDomains,
} from './sql/domains.sql';

export type { DueDomain };

export interface DomainFilter {
  /** Only the domain with this id. */
  readonly id?: string | undefined;
  /** Only those that come after the domain with this id. */
  readonly after?: string | undefined;
  /** A part of the name. */
  readonly text?: string | undefined;
  readonly status?: VerificationStatus | undefined;
  /** Only those that are slowed or paused. */
  readonly restricted?: boolean;
  readonly skip: number;
  readonly take: number;
}

/** The state that a domain must have for a change. */
export interface ExpectedState {
  readonly warmingStatus?: readonly WarmingStatus[];
  readonly sending?: Pick<SendingState, 'status' | 'reason'>;
}

/** A domain that mail is to be sent from; `name` undefined: the organization's default. */
export interface WantedDomain {
  readonly organizationId: string;
  readonly name: string | undefined;
}

export type DomainChange = Partial<Omit<Domain, 'sending'>> & { readonly sending?: Partial<SendingState> };

type Owner = { readonly organizationId: string; readonly domainId: string };
/** The properties of a domain that sending depends on. */
export type Sender = Pick<
  Domain,
  'id' | 'domain' | 'verificationStatus' | 'returnPathVerified' | 'trackingVerified' | 'requiresTls' | 'sending'
>;
type DomainKey = Pick<Domain, 'organizationId' | 'id'>;
type InboundHosts = ReadonlyMap<string, readonly string[]>;
type CheckedState = Omit<DomainCheck, 'organizationId' | 'domainId' | 'checkedAt'>;

/** Owner of `domains`, `removed_domains` and `domain_checks`. */
@Injectable()
export class DomainsRepository {
  constructor(
    private readonly database: Database,
    @InjectRepository(Domain) private readonly domains: Repository<Domain>,
    @InjectRepository(RemovedDomain) private readonly removed: Repository<RemovedDomain>,
    @InjectRepository(DomainCheck) private readonly checks: Repository<DomainCheck>,
  ) {}

  /** Blocks other changes to the organization's list of domains and its default until the transaction ends. */
  async lockList(organizationId: string, tx: Transaction): Promise<void> {
    await tx.run(lockList(`domains of ${organizationId}`));
  }

  /** Locks a domain until the transaction ends; null when there is none. */
  lock(organizationId: string, id: string, tx: Transaction): Promise<Domain | null> {
    return tx.manager.findOne(Domain, { where: { organizationId, id }, lock: { mode: 'pessimistic_write' } });
  }

  /** Keeps a domain from being removed until the transaction ends; null when there is none. */
  keep(organizationId: string, id: string, tx: Transaction): Promise<Domain | null> {
    return tx.manager.findOne(Domain, { where: { organizationId, id }, lock: { mode: 'for_key_share' } });
  }

  /** What is kept of a removed one of this name stays: it may be removed again before it is verified. */
  async insert(domain: Domain, tx: Transaction): Promise<void> {
    await tx.manager.insert(Domain, domain);
  }

  /**
   * Deletes a domain and its checks; one that may have sent live mail, or is restricted, is kept as a removed domain. The warm-up alone
   * does not tell: it never starts where it is switched off, and in the mode `local`.
   */
  async delete(domain: Domain, at: Date, tx: Transaction): Promise<void> {
    const { organizationId, id } = domain;
    const { verifiedAt, warmingStatus, sending } = domain;
    const isFresh = verifiedAt === null && warmingStatus === 'not_started' && sending.status === 'active';
    if (!isFresh) await tx.manager.upsert(RemovedDomain, removedDomain(domain, at), ['organizationId', 'domain']);
    await tx.manager.delete(DomainCheck, { organizationId, domainId: id });
    await tx.manager.delete(Domain, { organizationId, id });
  }

  findRemoved(organizationId: string, domain: string): Promise<RemovedDomain | null> {
    return this.removed.findOneBy({ organizationId, domain });
  }

  /** Names by id, including removed domains that are kept. */
  async findNames(organizationId: string, ids: readonly string[]): Promise<{ id: string; domain: string }[]> {
    const named = { select: { id: true, domain: true }, where: { organizationId, id: Any(ids) } };
    return [...(await this.removed.find(named)), ...(await this.domains.find(named))];
  }

  /** Those of several organizations' domains that there are, in one query. */
  findAllForSending(wanted: readonly WantedDomain[]): Promise<Domain[]> {
    const owners = new Set(wanted.map(({ organizationId }) => organizationId));
    const where = [...owners].flatMap((organizationId) => {
      const names = wanted.flatMap((one) => (one.organizationId === organizationId ? [one.name] : []));
      const own = { organizationId, domain: Any(names.filter((name) => name !== undefined)) };
      return names.includes(undefined) ? [own, { organizationId, isDefault: true }] : [own];
    });
    return this.domains.findBy(where);
  }

  find(organizationId: string, id: string): Promise<Domain | null> {
    return this.domains.findOneBy({ organizationId, id });
  }

  /** For operators; scans the whole table. */
  findById(id: string): Promise<Domain | null> {
    return this.domains.findOneBy({ id });
  }

  /** For operators: the domains of this name in all organizations, oldest first. */
  findByName(domain: string): Promise<Domain[]> {
    return this.domains.find({ where: { domain }, order: { id: 'ASC' } });
  }

  /** The domain of this name that an organization has verified: by the unique index of those. */
  findVerified(domain: string): Promise<Domain | null> {
    return this.domains.findOneBy({ domain, verificationStatus: 'verified' });
  }

  /** Those of some names that an organization has verified; a name has one at most. */
  findVerifiedAmong(names: readonly string[]): Promise<Domain[]> {
    return this.domains.findBy({ domain: In(names), verificationStatus: 'verified' });
  }

  list(organizationId: string): Promise<Domain[]> {
    return this.domains.find({ where: { organizationId }, order: { id: 'ASC' } });
  }

  /** Oldest first, with the total number, which counts those before `after` too. */
  async page(organizationId: string, filter: DomainFilter): Promise<[Domain[], number]> {
    const { id, after, text, status, restricted = false, skip, take } = filter;
    const holds = (name: string) => `position(:text in ${name}) > 0`;
    const where: FindOptionsWhere<Domain> = {
      organizationId,
      ...(id !== undefined && { id }),
      ...(text !== undefined && { domain: Raw(holds, { text: storedPart(text) }) }),
      ...(status !== undefined && { verificationStatus: status }),
      ...(restricted && { sending: { status: Not('active') } }),
    };
    if (after === undefined) return this.domains.findAndCount({ where, order: { id: 'ASC' }, skip, take });
    const following = { ...where, id: id === undefined ? MoreThan(after) : And(Equal(id), MoreThan(after)) };
    const found = await this.domains.find({ where: following, order: { id: 'ASC' }, skip, take });
    return [found, await this.domains.countBy(where)];
  }

  count(organizationId: string, tx?: Transaction): Promise<number> {
    return (tx?.manager.getRepository(Domain) ?? this.domains).countBy({ organizationId });
  }

  /** Slowed and paused domains of all organizations, for operators. */
  countRestricted(): Promise<number> {
    return this.domains.countBy({ sending: { status: Not('active') } });
  }

  /** Whether the organization has the name, or another one has verified it. */
  isTaken(organizationId: string, domain: string): Promise<boolean> {
    const taken = [
      { organizationId, domain },
      { domain, verificationStatus: 'verified' as const },
    ];
    return acrossTenants(() => this.domains.existsBy(taken));
  }

  isVerifiedElsewhere({ organizationId, domain }: Domain): Promise<boolean> {
    const elsewhere = { domain, verificationStatus: 'verified' as const, organizationId: Not(organizationId) };
    return acrossTenants(() => this.domains.existsBy(elsewhere));
  }

  /** Which names of domains are verified by whichever organization: at most one each. */
  async verifiedNamesAmong(domains: readonly Pick<Domain, 'domain'>[]): Promise<string[]> {
    const where = { domain: In(domains.map(({ domain }) => domain)), verificationStatus: 'verified' as const };
    const verified = await acrossTenants(() => this.domains.find({ select: { id: true, domain: true }, where }));
    return verified.map(({ domain }) => domain);
  }

  findSenders(owners: readonly Owner[]): Promise<Sender[]> {
    const named = { id: true, domain: true, verificationStatus: true } as const;
    const verified = { returnPathVerified: true, trackingVerified: true, requiresTls: true } as const;
    return this.domains.find({
      select: { ...named, ...verified, sending: { status: true, reason: true, note: true, since: true } },
      where: {
        organizationId: In([...new Set(owners.map((owner) => owner.organizationId))]),
        id: In(owners.map((owner) => owner.domainId)),
      },
    });
  }

  async update({ organizationId, id }: DomainKey, change: DomainChange, tx: Transaction): Promise<void> {
    await tx.manager.update(Domain, { organizationId, id }, change);
  }

  /** Changes a domain; returns false when its state is not the expected one. */
  async updateIf(
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

  /** Unsets the current default first, since a unique index allows one per organization. */
  async makeDefault(organizationId: string, id: string, at: Date, tx: Transaction): Promise<void> {
    await tx.manager.update(Domain, { organizationId, isDefault: true }, { isDefault: false, updatedAt: at });
    await tx.manager.update(Domain, { organizationId, id }, { isDefault: true, updatedAt: at });
  }

  /** The results of the last DNS checks of several domains. */
  checksOf(organizationId: string, domainIds: readonly string[], tx?: Transaction): Promise<DomainCheck[]> {
    const checks = tx ? tx.manager.getRepository(DomainCheck) : this.checks;
    return checks.findBy({ organizationId, domainId: In([...domainIds]) });
  }

  /** The hosts of inbound routes by domain, for which an MX record is wanted. */
  async inboundHosts(organizationId: string, domainIds: readonly string[]): Promise<InboundHosts> {
    const hosts = new Map<string, string[]>();
    for (const { domainId, host } of await this.database.run(listInboundHosts(organizationId, domainIds))) {
      const known = hosts.get(domainId);
      if (known) known.push(host);
      else hosts.set(domainId, [host]);
    }
    return hosts;
  }

  /** Stores check results, and deletes those of records that the domain no longer needs. */
  async saveChecks(
    { organizationId, domainId }: Owner,
    states: readonly CheckedState[],
    checkedAt: Date,
    tx: Transaction,
  ): Promise<void> {
    await tx.manager.delete(DomainCheck, { organizationId, domainId, host: Not(In(states.map(({ host }) => host))) });
    const rows = states.map((state) => ({ ...state, organizationId, domainId, checkedAt }));
    await tx.manager.upsert(DomainCheck, rows, ['organizationId', 'domainId', 'purpose', 'host']);
  }

  /** Ids of organizations with domains whose check is due, in their order. */
  async dueOwners(now: Date): Promise<string[]> {
    return (await this.database.run(listDueOwners(now))).map(({ organizationId }) => organizationId);
  }

  /** Leases domains of these organizations whose check is due; no other process gets them before `until`. */
  takeDue(due: DueDomains, organizationIds: readonly string[]): Promise<DueDomain[]> {
    return this.database.run(takeDueDomains(due, organizationIds));
  }

  async countDue(now: Date): Promise<number> {
    return (await this.database.run(countDueDomains(now)))[0]?.count ?? 0;
  }
}
