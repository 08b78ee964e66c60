import { Injectable } from '@nestjs/common';
import { Metrics } from '../../../common/metrics/metrics';
import { AppConfig } from '../../../config/config';
import type { DkimKey } from '../dkim/dkim-key.entity';
import { DkimKeysService } from '../dkim/dkim-keys.service';
import type { Domain } from '../domain.entity';
import { wantedRecords } from '../wanted-records';
import type { CheckedRecord } from './record-state';
import { RecordChecker } from './record-checker.service';

export interface LiveRecords {
  /** Those that the records were made from. */
  readonly keys: readonly DkimKey[];
  /** In the order in which the records are shown. */
  readonly checked: readonly CheckedRecord[];
}

/** The records of a domain as the DNS has them at this moment. */
@Injectable()
export class LiveRecordsService {
  constructor(
    private readonly keys: DkimKeysService,
    private readonly checker: RecordChecker,
    private readonly config: AppConfig,
    private readonly metrics: Metrics,
  ) {}

  async look(domain: Domain): Promise<LiveRecords> {
    const keys = await this.keys.published(domain.organizationId, domain.id);
    const records = wantedRecords(domain, keys, this.config.dns);
    const checks = await this.checker.check(records, domain.domain, keys);
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
