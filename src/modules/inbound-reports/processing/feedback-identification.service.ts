import { Injectable } from '@nestjs/common';
import { Clock, DAY } from '../../../common/clock';
import { isUuid } from '../../../common/ids';
import { findOwnSignature } from '../../../delivery/dkim/own-signature';
import type { EmailKey } from '../../../delivery/ports/delivery';
import { type KnownKey, PublicKeysService } from '../../domains/dkim/public-keys.service';
import { EmailLookupService } from '../../emails/email-lookup.service';
import { RecipientLinksService } from '../../emails/recipient-links.service';
import type { ReportTarget } from '../queue/inbound-report.entity';
import { InboundReportsService } from '../queue/inbound-reports.service';
import type { OriginalMessage } from '../parsing/report';

/** As long as a return path holds: four days of attempts and thirty after them. */
const MAX_AGE_MS = 34 * DAY;

/** One of our unsubscribe links in angle brackets (RFC 2369 section 2). */
const UNSUBSCRIBE_LINK = /\/u\/([\w-]{1,100})>/;

/** `unidentified`: nothing shows that it concerns our mail. */
export type Identified = ReportTarget | 'unidentified' | 'unknown-email';

/** An email of this service, recognised by its signature. */
interface SignedOriginal extends EmailKey {
  readonly domainId: string;
}

/**
 * Finds out what a complaint to a public mailbox is about. What it claims proves nothing; what counts is what only we can
 * have made. A token of the copy (its return path, its unsubscribe link) names the recipient. Our signature over the whole
 * mail names the email: all recipients have the same bytes, so of several it names none.
 */
@Injectable()
export class FeedbackIdentification {
  constructor(
    private readonly reports: InboundReportsService,
    private readonly keys: PublicKeysService,
    private readonly emails: EmailLookupService,
    private readonly links: RecipientLinksService,
    private readonly clock: Clock,
  ) {}

  /** @throws UnavailableError */
  async identify(original: OriginalMessage | undefined): Promise<Identified> {
    if (!original) return 'unidentified';
    return (await this.byToken(original)) ?? (await this.bySignature(original));
  }

  private async byToken({ originalMailFrom, returnPath, listUnsubscribe }: OriginalMessage) {
    for (const path of [originalMailFrom, returnPath]) {
      const addressee = await this.reports.addressee(bare(path ?? ''));
      if (typeof addressee !== 'string' && 'emailId' in addressee) return addressee;
    }
    const token = UNSUBSCRIBE_LINK.exec(listUnsubscribe ?? '')?.[1];
    return token === undefined ? undefined : this.links.open('unsubscribe', token);
  }

  private async bySignature({ raw, hasBody }: OriginalMessage): Promise<Identified> {
    const signed = raw && hasBody ? await this.signedEmail(raw) : undefined;
    if (!signed) return 'unidentified';
    const { domainId, ...key } = signed;
    const email = await this.emails.findReported(key);
    if (!email || email.domainId !== domainId) return 'unknown-email';
    const [recipient, ...others] = email.recipients;
    return recipient && others.length === 0 ? { ...key, position: recipient.position } : key;
  }

  /**
   * The email that these bytes are, header and body; undefined for mail that is not ours, was altered or is too old.
   * Its id is under the signature, and test mail is never signed.
   * @throws UnavailableError
   */
  private async signedEmail(message: Buffer): Promise<SignedOriginal | undefined> {
    let owner: KnownKey | undefined;
    const found = await findOwnSignature(message, async ({ domain, selector }) => {
      owner = await this.keys.findByName(domain, selector);
      return owner?.publicKey;
    });
    if (!found || !owner || this.clock.now().getTime() - found.signedAt.getTime() > MAX_AGE_MS) return undefined;
    const emailId = found.identity;
    if (!isUuid(emailId)) return undefined;
    const { organizationId, domainId } = owner;
    return { organizationId, mode: 'live', emailId, domainId };
  }
}

function bare(path: string): string {
  return path.trim().replace(/^<|>$/g, '');
}
