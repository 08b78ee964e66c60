import { Injectable } from '@nestjs/common';
import { Clock, DAY } from '../../../common/clock';
import { addressKey } from '../../../common/mail-address';
import { isUuid } from '../../../common/ids';
import { AppConfig } from '../../../config/config';
import { findOwnSignature } from '../../../delivery/dkim/own-signature';
import type { EmailKey } from '../../../delivery/ports/delivery';
import { type KnownKey, PublicKeysService } from '../../domains/dkim/public-keys.service';
import { EmailLookupService, type ReportedEmail } from '../../emails/email-lookup.service';
import { readBounceAddress } from '../bounce-address';
import type { ReportSubject } from '../inbound-report';
import { InboundService } from '../inbound.service';
import type { OriginalMessage } from '../parsing/report';

/** As long as a return path holds: four days of attempts and thirty after them. */
const MAX_AGE_MS = 34 * DAY;

/** `unidentified`: nothing shows that it is about mail of ours. */
export type Identified = ReportSubject | 'unidentified' | 'unknown-email' | 'recipient-unknown';

/** An email of ours that is recognised by the signature that we gave it. */
interface SignedOriginal extends EmailKey {
  readonly domainId: string;
}

/**
 * Finds out which delivery a complaint to a public mailbox is about. What it claims proves nothing; what counts is
 * what only we can have made: the token of a return path, or our signature over the whole mail that it attaches.
 */
@Injectable()
export class FeedbackIdentification {
  constructor(
    private readonly inbound: InboundService,
    private readonly keys: PublicKeysService,
    private readonly emails: EmailLookupService,
    private readonly clock: Clock,
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
    const signed = raw && hasBody ? await this.signedEmail(raw) : undefined;
    if (!signed) return 'unidentified';
    const { domainId, ...key } = signed;
    const email = await this.emails.findReported(key);
    if (!email || email.domainId !== domainId) return 'unknown-email';
    const position = positionOf(email, recipients);
    return position === undefined ? 'recipient-unknown' : { ...key, position };
  }

  /**
   * The email that these bytes are, header and body; undefined for mail that is not ours, was altered or is too old.
   * The Message-ID is under the signature, and test mail is never signed.
   * @throws UnavailableError
   */
  private async signedEmail(message: Buffer): Promise<SignedOriginal | undefined> {
    let owner: KnownKey | undefined;
    const found = await findOwnSignature(message, async ({ domain, selector }) => {
      owner = await this.keys.findByName(domain, selector);
      return owner?.publicKey;
    });
    if (!found || !owner || this.clock.now().getTime() - found.signedAt.getTime() > MAX_AGE_MS) return undefined;
    const emailId = found.messageId.split('@')[0] ?? '';
    if (!isUuid(emailId)) return undefined;
    const { organizationId, domainId } = owner;
    return { organizationId, mode: 'live', emailId, domainId };
  }
}

/** Of several recipients the one that the report names, if it names one alone: a wrong one would be suppressed. */
function positionOf({ recipients }: ReportedEmail, named: readonly string[]): number | undefined {
  const keys = new Set(named.map((address) => addressKey(bare(address))));
  const possible =
    recipients.length === 1 ? recipients : recipients.filter(({ address }) => keys.has(addressKey(address)));
  return possible.length === 1 ? possible[0]?.position : undefined;
}

function bare(path: string): string {
  return path.trim().replace(/^<|>$/g, '');
}
