import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { atMost } from '../../../common/bounded-cache';
import { MicroBatcher } from '../../../common/async/micro-batcher';
import { SingleFlight } from '../../../common/async/promises';
import { SECOND } from '../../../common/clock';
import { AppError } from '../../../common/errors/app-error';
import { type Tenant, withinTenants } from '../../../common/tenant';
import { DomainsService, type WantedDomain } from '../../domains/domains.service';
import { WarmUpService } from '../../domains/restrictions/warm-up.service';
import type { Sender } from './request/send-request';

interface SenderDomain {
  readonly id: string;
  readonly name: string;
  readonly verified: boolean;
  /** Limits of warm-up or restriction apply; false for nearly all domains. */
  readonly isLimited: boolean;
}

type FoundDomain = NonNullable<Awaited<ReturnType<DomainsService['find']>>>;

/** How long a verified domain is cached after a change in another process; other results are not cached. */
const CACHE_MS = 2 * SECOND;
/** Of the connections to the database; a batch of emails may name a hundred domains. */
const QUERIES = { maxWeight: 200, concurrency: 2 };

/** Finds the domain that a `from` belongs to, if its owner may send from it. */
@Injectable()
export class SenderResolver {
  private readonly verified = new LRUCache<string, SenderDomain>({ ...atMost(20_000), ttl: CACHE_MS });
  /** One look-up for a burst. */
  private readonly lookUps = new SingleFlight<SenderDomain | undefined>();
  /**
   * Look-ups share queries, organizations in rotation: with one each, names that nobody has cost ten times as much as mail that is
   * accepted, and twenty connections that send them had others wait for 60 ms.
   */
  private readonly queries = new MicroBatcher<WantedDomain, FoundDomain | undefined>((wanted) => this.findAll(wanted), {
    ...QUERIES,
    holderOf: ({ organizationId }) => organizationId,
  });

  constructor(
    private readonly domains: DomainsService,
    private readonly warmUp: WarmUpService,
  ) {}

  /** @throws AppError domain_not_verified, domain_not_allowed */
  async resolve(sender: Sender, tenant: Tenant): Promise<Omit<SenderDomain, 'verified'>> {
    const { domainId } = tenant;
    const domain = await this.findFor(sender, tenant);
    if (domainId !== undefined && domain?.id !== domainId) {
      throw new AppError('domain_not_allowed', 'This API key is bound to another domain');
    }
    // Test mail never leaves the service, so its domain need not be verified in DNS.
    if (!domain || (!domain.verified && tenant.mode === 'live')) {
      throw notVerified(sender.domain ?? domain?.name, tenant.mode);
    }
    return domain;
  }

  /** For a key bound to a domain, that domain takes the place of the default domain. */
  private async findFor(sender: Sender, { organizationId, domainId }: Tenant): Promise<SenderDomain | undefined> {
    if (sender.domain !== undefined || domainId === undefined) return this.find(organizationId, sender.domain);
    return this.lookUps.run(`${organizationId} id ${domainId}`, () => this.lookUpBound(organizationId, domainId));
  }

  private async lookUpBound(organizationId: string, domainId: string): Promise<SenderDomain | undefined> {
    const found = await withinTenants([organizationId], () => this.domains.find(organizationId, domainId));
    return found ? this.describe(found) : undefined;
  }

  private async find(organizationId: string, name: string | undefined): Promise<SenderDomain | undefined> {
    const key = `${organizationId} ${this.domains.revisions.of(organizationId)} ${name ?? ''}`;
    return this.verified.get(key) ?? this.lookUps.run(key, () => this.lookUp(organizationId, name, key));
  }

  private async lookUp(
    organizationId: string,
    name: string | undefined,
    key: string,
  ): Promise<SenderDomain | undefined> {
    const found = await this.queries.add({ organizationId, name });
    if (!found) return undefined;
    const domain = this.describe(found);
    if (domain.verified) this.verified.set(key, domain);
    return domain;
  }

  private findAll(wanted: readonly WantedDomain[]): Promise<(FoundDomain | undefined)[]> {
    const organizationIds = wanted.map(({ organizationId }) => organizationId);
    return withinTenants(organizationIds, () => this.domains.findAllForSending(wanted));
  }

  private describe(domain: FoundDomain): SenderDomain {
    const { id, domain: name, verificationStatus } = domain;
    return { id, name, verified: verificationStatus === 'verified', isLimited: this.warmUp.isLimited(domain) };
  }
}

function notVerified(name: string | undefined, mode: Tenant['mode']): AppError {
  if (name === undefined) {
    return new AppError('domain_not_verified', 'The organization has no default domain to send from', {
      suggestion: 'Add and verify a domain, or name one in "from"',
    });
  }
  if (mode === 'test') {
    return new AppError('domain_not_verified', `The domain ${name} is not registered in this organization`, {
      suggestion: 'Add the domain with a live key; to send test mail from it, it need not be verified',
    });
  }
  return new AppError('domain_not_verified', `The domain ${name} is not a verified domain of this organization`, {
    suggestion: 'Add the domain, publish its DNS records and verify it',
  });
}
