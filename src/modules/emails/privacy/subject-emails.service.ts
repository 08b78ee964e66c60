import { Injectable } from '@nestjs/common';
import type { SubjectRange, SubjectScope } from '../sql/list-subject-emails.sql';
import type { SubjectEmailHead, SubjectEvent } from '../sql/read-subject-emails.sql';
import { SubjectEmailsRepository } from './subject-emails.repository';

/** An email to a data subject, to whomever else it went, with all that happened to it. */
export interface SubjectEmail extends SubjectEmailHead {
  /** In the order in which they were recorded, those of other recipients too. */
  readonly events: readonly SubjectEvent[];
}

/** What a page holds in memory, unless a single email has more. */
const PAGE = { emails: 100, bytes: 4 * 1024 * 1024 };

/** The emails that went to a data subject. */
@Injectable()
export class SubjectEmails {
  constructor(private readonly emails: SubjectEmailsRepository) {}

  /** The next page by id; empty after the last one. @throws UnavailableError */
  async page(scope: SubjectScope, range: SubjectRange): Promise<SubjectEmail[]> {
    const keys = await this.emails.list(scope, range, PAGE);
    if (keys.length === 0) return [];
    const [emails, events] = await Promise.all([this.emails.findEmails(keys), this.emails.findEvents(keys)]);
    const eventsOf = new Map<string, SubjectEvent[]>(emails.map(({ id }) => [id, []]));
    for (const event of events) eventsOf.get(event.emailId)?.push(event);
    return emails.map((email) => ({ ...email, events: eventsOf.get(email.id) ?? [] }));
  }
}

export type { SubjectRange, SubjectScope };
