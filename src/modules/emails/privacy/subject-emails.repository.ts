import { Injectable } from '@nestjs/common';
import { Database } from '../../../database/database.service';
import type { EmailKey } from '../../../delivery/ports/delivery';
import {
  listSubjectEmails,
  type PageLimits,
  readSubjectEmails,
  readSubjectEvents,
  type SubjectEmailHead,
  type SubjectEvent,
  type SubjectRange,
  type SubjectScope,
} from './sql/subject-emails.sql';

/** What emails hold of a data subject, to be read for an export. */
@Injectable()
export class SubjectEmailsRepository {
  constructor(private readonly database: Database) {}

  /** A page of the emails to a subject, in order. */
  async list(scope: SubjectScope, range: SubjectRange, limits: PageLimits): Promise<EmailKey[]> {
    const { organizationId, mode } = scope;
    const ids = await this.database.run(listSubjectEmails(scope, range, limits));
    return ids.map(({ id: emailId }) => ({ organizationId, mode, emailId }));
  }

  findEmails(keys: readonly EmailKey[]): Promise<SubjectEmailHead[]> {
    return this.database.run(readSubjectEmails(keys));
  }

  /** Of each email in the order in which they were recorded. */
  findEvents(keys: readonly EmailKey[]): Promise<SubjectEvent[]> {
    return this.database.run(readSubjectEvents(keys));
  }
}

export type { SubjectEmailHead, SubjectEvent, SubjectRange, SubjectScope };
