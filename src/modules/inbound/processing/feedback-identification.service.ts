import { Injectable } from '@nestjs/common';
import { addressKey } from '../../../common/mail-address';
import { AppConfig } from '../../../config/config';
import type { ReportedEmail } from '../../emails/email-lookup.service';
import { EmailLookupService } from '../../emails/email-lookup.service';
import { readBounceAddress } from '../bounce-address';
import type { ReportSubject } from '../inbound-report';
import { InboundService } from '../inbound.service';
import type { OriginalMessage } from '../parsing/report';
import { SignedOriginals } from './signed-originals.service';

/** `unidentified`: nothing shows that it is about mail of ours. */
export type Identified = ReportSubject | 'unidentified' | 'unknown-email' | 'recipient-unknown';

/**
 * Finds out which delivery a complaint to a public mailbox is about. Whatever it claims counts for nothing; what counts is
 * what only we can have made: the token of a return path, or our signature over the whole mail that it attaches.
 */
@Injectable()
export class FeedbackIdentification {
  constructor(
    private readonly inbound: InboundService,
    private readonly originals: SignedOriginals,
    private readonly emails: EmailLookupService,
    private readonly config: AppConfig,
  ) {}

  /** @throws UnavailableError */
  async identify(original: OriginalMessage | undefined): Promise<Identified> {
    if (!original) return 'unidentified';
    return (await this.byToken(original)) ?? (await this.bySignature(original));
  }

  private async byToken({ originalMailFrom, returnPath }: OriginalMessage): Promise<ReportSubject | undefined> {
    for (const path of [originalMailFrom, returnPath]) {
      const address = readBounceAddress(bare(path ?? ''), this.config.delivery.mailHost);
      const subject = address.kind === 'ours' ? await this.inbound.subjectOf(address.localPart) : undefined;
      if (subject) return subject;
    }
    return undefined;
  }

  private async bySignature({ raw, hasBody, recipients }: OriginalMessage): Promise<Identified> {
    const signed = raw && hasBody ? await this.originals.identify(raw) : undefined;
    if (!signed) return 'unidentified';
    const { domainId, ...key } = signed;
    const email = await this.emails.findReported(key);
    if (!email || email.domainId !== domainId) return 'unknown-email';
    const position = positionOf(email, recipients);
    return position === undefined ? 'recipient-unknown' : { ...key, position };
  }
}

/** Of several recipients the one that the report names, if it names one alone: a wrong one would never hear of us again. */
function positionOf({ recipients }: ReportedEmail, named: readonly string[]): number | undefined {
  const keys = new Set(named.map((address) => addressKey(bare(address))));
  const possible =
    recipients.length === 1 ? recipients : recipients.filter(({ address }) => keys.has(addressKey(address)));
  return possible.length === 1 ? possible[0]?.position : undefined;
}

function bare(path: string): string {
  return path.trim().replace(/^<|>$/g, '');
}
