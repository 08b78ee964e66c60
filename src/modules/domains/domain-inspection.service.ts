import { Injectable } from '@nestjs/common';
import { AppError, NotFoundError } from '../../common/errors/app-error';
import { AppConfig } from '../../config/config';
import type { DkimKey } from './dkim/dkim-key.entity';
import { DkimKeysService } from './dkim/dkim-keys.service';
import type { RecordCheck, WantedRecord } from './dns-record';
import type { Domain } from './domain.entity';
import { normalizeDomainName } from './domain-name';
import { DomainsRepository } from './domains.repository';
import { RecordChecker } from './verification/record-checker.service';
import { wantedRecords } from './wanted-records';

export interface InspectedRecord {
  readonly wanted: WantedRecord;
  readonly check: RecordCheck;
  /** False: mail is trusted without it as well. */
  readonly required: boolean;
}

export interface DomainInspection {
  readonly domain: Domain;
  readonly records: readonly InspectedRecord[];
}

/** For the operator: the domain as the DNS shows it now. Writes nothing. */
@Injectable()
export class DomainInspectionService {
  constructor(
    private readonly domains: DomainsRepository,
    private readonly keys: DkimKeysService,
    private readonly checker: RecordChecker,
    private readonly config: AppConfig,
  ) {}

  /**
   * @param organizationId undefined: whoever has the domain, best the one that has verified it
   * @throws ValidationError, NotFoundError, AppError invalid_request when several organizations have it unverified
   */
  async inspect(name: string, organizationId: string | undefined): Promise<DomainInspection> {
    const domain = await this.find(normalizeDomainName(name).domain, organizationId);
    const keys = await this.keys.published(domain.organizationId, domain.id);
    const wanted = wantedRecords(domain, keys, this.config.dns);
    const checks = await this.checker.check(wanted, domain.domain, keys);
    const records = wanted.flatMap((record, index) => {
      const check = checks[index];
      return check ? [{ wanted: record, check, required: this.isRequired(record, keys) }] : [];
    });
    return { domain, records };
  }

  private async find(name: string, organizationId: string | undefined): Promise<Domain> {
    const found = (await this.domains.findAnywhere(name)).filter(
      (domain) => organizationId === undefined || domain.organizationId === organizationId,
    );
    const domain = found.find(({ verificationStatus }) => verificationStatus === 'verified') ?? found[0];
    if (!domain) throw new NotFoundError('Domain');
    if (domain.verificationStatus === 'verified' || found.length === 1) return domain;
    const owners = found.map((each) => each.organizationId);
    throw new AppError(
      'invalid_request',
      'Several organizations have this domain, none verified: name one with --org',
      {
        details: { organizations: owners },
      },
    );
  }

  /** What the large receivers ask of every sender; a key that does not sign (yet, or any more) can wait. */
  private isRequired({ purpose, host }: WantedRecord, keys: readonly DkimKey[]): boolean {
    if (purpose === 'return_path' || purpose === 'tracking') return false;
    if (purpose !== 'dkim' || this.config.dns.dkimZone !== undefined) return true;
    return keys.some(({ selector, state }) => state === 'active' && host.startsWith(`${selector}.`));
  }
}
