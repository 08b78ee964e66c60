import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { In, type Repository } from 'typeorm';
import { Database } from '../../../database/database.service';
import { Email } from '../email.entity';
import { EmailContent } from '../email-content.entity';
import { EmailEvent } from '../email-event.entity';
import { listSubjectEmails, type SubjectRange, type SubjectScope } from '../sql/list-subject-emails.sql';

@Injectable()
export class SubjectEmailsRepository {
  constructor(
    private readonly database: Database,
    @InjectRepository(Email) private readonly emails: Repository<Email>,
    @InjectRepository(EmailContent) private readonly contents: Repository<EmailContent>,
    @InjectRepository(EmailEvent) private readonly events: Repository<EmailEvent>,
  ) {}

  async listIds(
    scope: SubjectScope,
    range: SubjectRange,
    limits: { readonly emails: number; readonly bytes: number },
  ): Promise<string[]> {
    return (await this.database.run(listSubjectEmails(scope, range, limits))).map(({ id }) => id);
  }

  /** By id. */
  findEmails({ organizationId, mode }: SubjectScope, ids: readonly string[]): Promise<Email[]> {
    return this.emails.find({ where: { organizationId, mode, id: In(ids) }, order: { id: 'ASC' } });
  }

  /** Bodies only. */
  findContents({ organizationId, mode }: SubjectScope, ids: readonly string[]): Promise<EmailContent[]> {
    const select = { emailId: true, html: true, text: true };
    return this.contents.find({ select, where: { organizationId, mode, emailId: In(ids) } });
  }

  /** Of each email in the order in which they were recorded. */
  findEvents({ organizationId, mode }: SubjectScope, ids: readonly string[]): Promise<EmailEvent[]> {
    const where = { organizationId, mode, emailId: In(ids) };
    return this.events.find({ where, order: { emailId: 'ASC', sequence: 'ASC' } });
  }
}
