import { Injectable } from '@nestjs/common';
import { DnsResolver } from '../../../common/dns/dns-resolver';
import { AppError, NotFoundError } from '../../../common/errors/app-error';
import { Metrics } from '../../../common/metrics/metrics';
import { AppConfig } from '../../../config/config';
import type { DkimKey } from '../dkim/dkim-key.entity';
import { DkimKeysService } from '../dkim/dkim-keys.service';
import { normalizeDomainName } from '../registry/domain-name';
import type { Domain } from '../registry/domain.entity';
import { DomainsRepository } from '../registry/domains.repository';
import {
  inboundRecords,
  RECORD_PURPOSES,
  type RecordCheck,
  type WantedRecord,
  wantedRecords,
} from '../registry/wanted-records';
import { checkRecords } from './check-records';
import { DnsLookups, foundFor } from './dns-lookups';
import type { CheckedRecord } from './record-state';

const RESULTS: readonly RecordCheck['result'][] = ['verified', 'missing', 'wrong', 'unreachable'];

/** Links and bounces need hosts that are in DNS, so those records stay missing; mail works without them. */
function checkWithoutDns({ purpose, host }: WantedRecord): RecordCheck {
  if (purpose !== 'return_path' && purpose !== 'tracking' && purpose !== 'inbound') return { result: 'verified' };
  return { result: 'missing', problem: `${host} is in no DNS: nothing under test is (RFC 6761)` };
}

export interface DnsCheck {
  /** The keys that the wanted records were built from. */
  readonly keys: readonly DkimKey[];
  /** In the order in which records are shown. */
  readonly checked: readonly CheckedRecord[];
}

/** Compares a domain's records with DNS now, uncached. Writes nothing. */
@Injectable()
export class DnsCheckService {
  private readonly checks;

  constructor(
    private readonly resolver: DnsResolver,
    private readonly keys: DkimKeysService,
    private readonly domains: DomainsRepository,
    private readonly config: AppConfig,
    metrics: Metrics,
  ) {
    this.checks = metrics.counter({
      name: 'domain_checks_total',
      help: 'DNS checks of sender domains',
      labels: { purpose: RECORD_PURPOSES, result: RESULTS },
    });
  }

  /** Takes at most ten seconds and forty lookups. Never throws for results of DNS. */
  async check(domain: Domain): Promise<DnsCheck> {
    const keys = await this.keys.published(domain.organizationId, domain.id);
    const inbound = await this.domains.inboundHosts(domain.organizationId, [domain.id]);
    const records = [
      ...wantedRecords(domain, keys, this.config.dns),
      ...inboundRecords(inbound.get(domain.id) ?? [], this.config.delivery.mailHost),
    ];
    const lookups = new DnsLookups(this.resolver, domain.organizationId);
    const checks = this.isTrustedByOperator(domain)
      ? records.map(checkWithoutDns)
      : await checkRecords(this.resolver, records, domain.domain, keys, lookups);
    const checked = records.flatMap((record, index) => {
      const check = checks[index];
      return check ? [{ record, check, found: foundFor(record, lookups.seenAt(record)) }] : [];
    });
    this.count(checked);
    return { keys, checked };
  }

  /** Names under `test` are never in DNS (RFC 6761 section 6.2): in local mode the operator's decision replaces the check. */
  private isTrustedByOperator({ domain, verificationStatus }: Domain): boolean {
    return this.config.delivery.mode === 'local' && verificationStatus === 'verified' && /(^|\.)test$/.test(domain);
  }

  private count(checked: readonly CheckedRecord[]): void {
    for (const { record, check } of checked) this.checks.inc({ purpose: record.purpose, result: check.result });
  }
}

export interface InspectedRecord {
  readonly wanted: WantedRecord;
  readonly check: RecordCheck;
  /** Whether receivers require the record; mail is accepted without the others. */
  readonly required: boolean;
}

export interface DomainInspection {
  readonly domain: Domain;
  readonly records: readonly InspectedRecord[];
}

/** For operators: compares a domain with DNS now. Writes nothing. */
@Injectable()
export class DomainInspectionService {
  constructor(
    private readonly domains: DomainsRepository,
    private readonly dns: DnsCheckService,
    private readonly config: AppConfig,
  ) {}

  /**
   * @param organizationId undefined: any organization that has the domain, preferably the one that has verified it
   * @throws ValidationError, NotFoundError, AppError invalid_request when several organizations have it unverified
   */
  async inspect(name: string, organizationId: string | undefined): Promise<DomainInspection> {
    const domain = await this.find(normalizeDomainName(name).domain, organizationId);
    const { keys, checked } = await this.dns.check(domain);
    const records = checked.map(({ record: wanted, check }) => {
      return { wanted, check, required: this.isRequired(wanted, keys) };
    });
    return { domain, records };
  }

  private async find(name: string, organizationId: string | undefined): Promise<Domain> {
    const found = (await this.domains.findByName(name)).filter(
      (domain) => organizationId === undefined || domain.organizationId === organizationId,
    );
    const domain = found.find(({ verificationStatus }) => verificationStatus === 'verified') ?? found[0];
    if (!domain) throw new NotFoundError('Domain');
    if (domain.verificationStatus === 'verified' || found.length === 1) return domain;
    const organizations = found.map((each) => each.organizationId);
    const message = 'Several organizations have this domain, none verified: name one with --org';
    throw new AppError('invalid_request', message, { details: { organizations } });
  }

  /** Whether the large receivers require the record of every sender. Records of keys that are not active are not required. */
  private isRequired({ purpose, host }: WantedRecord, keys: readonly DkimKey[]): boolean {
    if (purpose === 'return_path' || purpose === 'tracking') return false;
    if (purpose !== 'dkim' || this.config.dns.dkimZone !== undefined) return true;
    return keys.some(({ selector, state }) => state === 'active' && host.startsWith(`${selector}.`));
  }
}
