import { Injectable } from '@nestjs/common';
import { AppConfig } from '../../config/config';
import type { DkimKey } from './dkim/dkim-key.entity';
import { DkimKeysService } from './dkim/dkim-keys.service';
import type { DomainCheck } from './registry/domain-check.entity';
import type { Domain } from './registry/domain.entity';
import { DomainsRepository } from './registry/domains.repository';
import { inboundRecords, type WantedRecord, wantedRecords } from './registry/wanted-records';
import { WarmUpService } from './restrictions/warm-up.service';
import type { PublishedRecord } from './verification/record-state';

export interface DomainDetail {
  readonly domain: Domain;
  readonly records: readonly PublishedRecord[];
  /** Recipients per day while the domain warms up; null without a limit. */
  readonly warmingCurrentLimit: number | null;
}

/** Domains with the records that their owners should publish. */
@Injectable()
export class DomainDetailsService {
  constructor(
    private readonly keys: DkimKeysService,
    private readonly domains: DomainsRepository,
    private readonly warmUp: WarmUpService,
    private readonly config: AppConfig,
  ) {}

  async detailOf(domain: Domain): Promise<DomainDetail> {
    const keys = await this.keys.published(domain.organizationId, domain.id);
    const checks = await this.domains.checksOf(domain.organizationId, [domain.id]);
    const inbound = await this.domains.inboundHosts(domain.organizationId, [domain.id]);
    return this.describe(domain, keys, checks, inbound);
  }

  /** In the order of the domains: three queries for any number of them. */
  async detailsOf(organizationId: string, domains: readonly Domain[]): Promise<DomainDetail[]> {
    const ids = domains.map(({ id }) => id);
    const keys = await this.keys.publishedOf(organizationId, ids);
    const checks = await this.domains.checksOf(organizationId, ids);
    const inbound = await this.domains.inboundHosts(organizationId, ids);
    return domains.map((domain) => this.describe(domain, keys.get(domain.id) ?? [], checks, inbound));
  }

  private describe(
    domain: Domain,
    keys: readonly DkimKey[],
    checks: readonly DomainCheck[],
    inbound: ReadonlyMap<string, readonly string[]>,
  ): DomainDetail {
    const own = new Map(
      checks.filter(({ domainId }) => domainId === domain.id).map((check) => [placeOf(check), check]),
    );
    const wanted = [
      ...wantedRecords(domain, keys, this.config.dns),
      ...inboundRecords(inbound.get(domain.id) ?? [], this.config.delivery.mailHost),
    ];
    const records = wanted.map((record) => {
      const check = own.get(placeOf(record));
      return {
        ...{ record, verified: check?.verified === true },
        ...(check?.problem && { problem: check.problem }),
      };
    });
    return { domain, records, warmingCurrentLimit: this.warmUp.currentLimit(domain) };
  }
}

function placeOf({ purpose, host }: Pick<WantedRecord, 'purpose' | 'host'>): string {
  return `${purpose} ${host}`;
}
