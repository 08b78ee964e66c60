import { Injectable } from '@nestjs/common';
import { DnsResolver } from '../../../common/dns/dns-resolver';
import { Metrics } from '../../../common/metrics/metrics';
import { AppConfig } from '../../../config/config';
import type { DkimKey } from '../dkim/dkim-key.entity';
import { DkimKeysService } from '../dkim/dkim-keys.service';
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

/** Links and bounces would not find their way over hosts that are in no DNS; mail does without them. */
function checkVouched({ purpose, host }: WantedRecord): RecordCheck {
  if (purpose !== 'return_path' && purpose !== 'tracking' && purpose !== 'inbound') return { result: 'verified' };
  return { result: 'missing', problem: `${host} is in no DNS: nothing under test is (RFC 6761)` };
}

export interface DnsCheck {
  /** Those that the records were made from. */
  readonly keys: readonly DkimKey[];
  /** In the order in which the records are shown. */
  readonly checked: readonly CheckedRecord[];
}

/** Checks what the DNS says of a domain's records at this moment. Writes nothing. */
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

  /** Within ten seconds and forty look-ups. Never throws for what the DNS says. */
  async check(domain: Domain): Promise<DnsCheck> {
    const keys = await this.keys.published(domain.organizationId, domain.id);
    const inbound = await this.domains.inboundHosts(domain.organizationId, [domain.id]);
    const records = [
      ...wantedRecords(domain, keys, this.config.dns),
      ...inboundRecords(inbound.get(domain.id) ?? [], this.config.delivery.mailHost),
    ];
    const lookups = new DnsLookups(this.resolver);
    const checks = this.isVouchedFor(domain)
      ? records.map(checkVouched)
      : await checkRecords(this.resolver, records, domain.domain, keys, lookups);
    const checked = records.flatMap((record, index) => {
      const check = checks[index];
      return check ? [{ record, check, found: foundFor(record, lookups.seenAt(record)) }] : [];
    });
    this.count(checked);
    return { keys, checked };
  }

  /** What is under `test` is in no DNS (RFC 6761 section 6.2): in local mode the operator's word counts instead. */
  private isVouchedFor({ domain, verificationStatus }: Domain): boolean {
    return this.config.delivery.mode === 'local' && verificationStatus === 'verified' && /(^|\.)test$/.test(domain);
  }

  private count(checked: readonly CheckedRecord[]): void {
    for (const { record, check } of checked) this.checks.inc({ purpose: record.purpose, result: check.result });
  }
}
