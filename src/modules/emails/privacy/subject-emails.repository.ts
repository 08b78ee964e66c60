import { Injectable } from '@nestjs/common';
import { Database } from '../../../database/database.service';
import type { EmailKey } from '../../../delivery/ports/delivery';
import { listSubjectEmails, type SubjectRange, type SubjectScope } from '../sql/list-subject-emails.sql';
import {
  readSubjectEmails,
  readSubjectEvents,
  type SubjectEmailHead,
  type SubjectEvent,
} from '../sql/read-subject-emails.sql';

@Injectable()
export class SubjectEmailsRepository {
  constructor(private readonly database: Database) {}

  /** In order; a page's limits. */
  async list(
    scope: SubjectScope,
    range: SubjectRange,
    limits: { readonly emails: number; readonly bytes: number },
  ): Promise<EmailKey[]> {
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
