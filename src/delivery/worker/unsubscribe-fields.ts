import type { AppConfig } from '../../config/config';
import type { HeaderField } from '../message/header-block';
import type { ClaimedDelivery } from '../ports/delivery';
import type { OutgoingMessage } from '../ports/message-source';
import { RecipientLink } from '../tokens/recipient-link';

const LINK = 'List-Unsubscribe';
const ONE_CLICK = 'List-Unsubscribe-Post';

/** The header fields by which the recipient of bulk mail unsubscribes with one click (RFC 8058 section 3.1). */
export class UnsubscribeFields {
  private readonly links: RecipientLink;
  private readonly publicUrl: string;

  constructor({ masterKey, http }: AppConfig) {
    this.links = new RecipientLink(masterKey);
    this.publicUrl = http.publicUrl;
  }

  /**
   * None for transactional mail, and none where the customer has a `List-Unsubscribe` of their own: then the link is
   * theirs, and so is the list of those who followed it.
   * @param ordinal the organization's
   */
  fieldsFor(claim: ClaimedDelivery, ordinal: number, headers: OutgoingMessage['headers']): HeaderField[] {
    if (claim.category !== 'bulk') return [];
    const given = new Set(Object.keys(headers).map((name) => name.toLowerCase()));
    if (given.has(LINK.toLowerCase())) return [];
    const { mode, emailId, position } = claim;
    const token = this.links.issue('unsubscribe', { organizationOrdinal: ordinal, mode, emailId, position });
    const fields: HeaderField[] = [
      [LINK, `<${this.publicUrl}/u/${token}>`],
      [ONE_CLICK, 'List-Unsubscribe=One-Click'],
    ];
    return fields.filter(([name]) => !given.has(name.toLowerCase()));
  }
}
