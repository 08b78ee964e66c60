import { Injectable } from '@nestjs/common';
import { Database } from '../../database/database.service';
import type { PublicMail, PublicMailbox } from './inbound-report';
import { listPublicMail, readPublicMail } from './sql/find-public-mail.sql';

@Injectable()
export class PublicMailRepository {
  constructor(private readonly database: Database) {}

  list(mailbox: PublicMailbox, limit: number): Promise<PublicMail[]> {
    return this.database.run(listPublicMail(mailbox, limit));
  }

  async read(id: string): Promise<(PublicMail & { raw: Buffer }) | undefined> {
    const [mail] = await this.database.run(readPublicMail(id));
    return mail;
  }
}
