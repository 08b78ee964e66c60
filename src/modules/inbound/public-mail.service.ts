import { Injectable } from '@nestjs/common';
import { NotFoundError } from '../../common/errors/app-error';
import type { PublicMail, PublicMailbox } from './inbound-report';
import { PublicMailRepository } from './public-mail.repository';

/** Lets the operator read what was written to the mailboxes that anyone may write to. */
@Injectable()
export class PublicMailService {
  constructor(private readonly mail: PublicMailRepository) {}

  /** Newest first. @throws UnavailableError */
  list(mailbox: PublicMailbox, limit: number): Promise<PublicMail[]> {
    return this.mail.list(mailbox, limit);
  }

  /** With its bytes, which are a stranger's. @throws NotFoundError, UnavailableError */
  async read(id: string): Promise<PublicMail & { raw: Buffer }> {
    const mail = await this.mail.read(id);
    if (!mail) throw new NotFoundError('Message');
    return mail;
  }
}

export { PUBLIC_MAILBOXES, type PublicMailbox } from './inbound-report';
