import { Injectable } from '@nestjs/common';
import { OrganizationsService } from '../../auth/organizations/organizations.service';
import { AppConfig } from '../../config/config';
import type { DeliveryKey } from '../../delivery/ports/delivery';
import {
  RecipientLink,
  type RecipientLinkKind,
  type RecipientLinkTarget,
  type TargetOf,
} from '../../delivery/tokens/recipient-link';

/** Reads the tokens of signed links in sent mail. */
@Injectable()
export class RecipientLinksService {
  private readonly links: RecipientLink;

  constructor(
    private readonly organizations: OrganizationsService,
    config: AppConfig,
  ) {
    this.links = new RecipientLink(config.masterKey, config.previousMasterKey);
  }

  /** The content of a token; undefined when it is not valid. Makes no query. */
  read<Kind extends RecipientLinkKind>(kind: Kind, token: string): TargetOf<Kind> | undefined {
    return this.links.open(kind, token);
  }

  /** The delivery that a link belongs to; undefined when its organization does not exist. @throws UnavailableError */
  async keyOf({ organizationOrdinal, mode, emailId, position }: RecipientLinkTarget): Promise<DeliveryKey | undefined> {
    const organizationId = await this.organizations.findByOrdinal(organizationOrdinal);
    return organizationId === undefined ? undefined : { organizationId, mode, emailId, position };
  }

  /**
   * The delivery of a token; undefined when it is not valid. Only valid tokens lead to a query.
   * @throws UnavailableError
   */
  async open(kind: RecipientLinkKind, token: string): Promise<DeliveryKey | undefined> {
    const target = this.read(kind, token);
    return target && this.keyOf(target);
  }
}

export type { RecipientLinkTarget };
