import { Injectable } from '@nestjs/common';
import { AppError, NotFoundError } from '../../../common/errors/app-error';
import { AppConfig } from '../../../config/config';
import type { DkimKey } from '../dkim/dkim-key.entity';
import type { Domain } from '../registry/domain.entity';
import { normalizeDomainName } from '../registry/domain-name';
import { DomainsRepository } from '../registry/domains.repository';
import type { RecordCheck, WantedRecord } from '../registry/wanted-records';
import { DnsCheckService } from './dns-check.service';

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
    private readonly dns: DnsCheckService,
    private readonly config: AppConfig,
  ) {}

  /**
   * @param organizationId undefined: any organization that has the domain, best the one that has verified it
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

  /** What the large receivers require of every sender; a key that does not sign (yet, or any more) can wait. */
  private isRequired({ purpose, host }: WantedRecord, keys: readonly DkimKey[]): boolean {
    if (purpose === 'return_path' || purpose === 'tracking') return false;
    if (purpose !== 'dkim' || this.config.dns.dkimZone !== undefined) return true;
    return keys.some(({ selector, state }) => state === 'active' && host.startsWith(`${selector}.`));
  }
}
