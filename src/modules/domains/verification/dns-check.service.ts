import { Injectable } from '@nestjs/common';
import { DnsResolver } from '../../../common/dns/dns-resolver';
import { Metrics } from '../../../common/metrics/metrics';
import { AppConfig } from '../../../config/config';
import type { DkimKey } from '../dkim/dkim-key.entity';
import { DkimKeysService } from '../dkim/dkim-keys.service';
import type { Domain } from '../registry/domain.entity';
import { wantedRecords } from '../registry/wanted-records';
import { checkRecords } from './check-records';
import type { CheckedRecord } from './record-state';

export interface DnsCheck {
  /** Those that the records were made from. */
  readonly keys: readonly DkimKey[];
  /** In the order in which the records are shown. */
  readonly checked: readonly CheckedRecord[];
}

/** Checks what the DNS says of a domain's records at this moment. Writes nothing. */
@Injectable()
export class DnsCheckService {
  constructor(
    private readonly resolver: DnsResolver,
    private readonly keys: DkimKeysService,
    private readonly config: AppConfig,
    private readonly metrics: Metrics,
  ) {}

  /** Within ten seconds and forty look-ups. Never throws for what the DNS says. */
  async check(domain: Domain): Promise<DnsCheck> {
    const keys = await this.keys.published(domain.organizationId, domain.id);
    const records = wantedRecords(domain, keys, this.config.dns);
    const checks = await checkRecords(this.resolver, records, domain.domain, keys);
    const checked = records.flatMap((record, index) => {
      const check = checks[index];
      return check ? [{ record, check }] : [];
    });
    this.count(checked);
    return { keys, checked };
  }

  private count(checked: readonly CheckedRecord[]): void {
    const checks = this.metrics.counter({
      name: 'domain_checks_total',
      help: 'Looks at the DNS records of sender domains',
      labels: ['purpose', 'result'],
    });
    for (const { record, check } of checked) checks.inc({ purpose: record.purpose, result: check.result });
  }
}
