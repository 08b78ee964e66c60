import { Injectable } from '@nestjs/common';
import { DkimKeysService } from './dkim/dkim-keys.service';
import { DomainVerificationService } from './verification/domain-verification.service';
import { reportOn, type VerificationReport } from './verification-report';

/** Verifies a domain on its owner's demand. */
@Injectable()
export class DomainReportsService {
  constructor(
    private readonly verification: DomainVerificationService,
    private readonly keys: DkimKeysService,
  ) {}

  /** From live DNS. @throws NotFoundError */
  async verify(organizationId: string, domainId: string, actor: string): Promise<VerificationReport> {
    const { domain, checks } = await this.verification.verifyNow(organizationId, domainId, actor);
    // Read afterwards: the look may have made a new key the one that signs.
    const keys = await this.keys.published(organizationId, domainId);
    return reportOn(domain, checks, keys.find(({ state }) => state === 'active')?.selector);
  }
}
