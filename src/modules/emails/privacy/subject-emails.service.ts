import { Injectable } from '@nestjs/common';
import type { Email } from '../email.entity';
import type { EmailEvent } from '../email-event.entity';
import type { SubjectRange, SubjectScope } from '../sql/list-subject-emails.sql';
import { SubjectEmailsRepository } from './subject-emails.repository';

/** An email to a data subject, to whomever else it went, with all that happened to it. */
export interface SubjectEmail {
  readonly email: Email;
  /** Null each when there is none, or no more. */
  readonly html: string | null;
  readonly text: string | null;
  /** In the order in which they were recorded, those of other recipients too. */
  readonly events: readonly EmailEvent[];
}

/** What a page holds in memory, unless a single email has more. */
const PAGE = { emails: 100, bytes: 4 * 1024 * 1024 };

/** The emails that went to a data subject. */
@Injectable()
export class SubjectEmails {
  constructor(private readonly emails: SubjectEmailsRepository) {}

  /** The next page by id; empty after the last one. @throws UnavailableError */
  async page(scope: SubjectScope, range: SubjectRange): Promise<SubjectEmail[]> {
    const ids = await this.emails.listIds(scope, range, PAGE);
    if (ids.length === 0) return [];
    const [emails, contents, events] = await Promise.all([
      this.emails.findEmails(scope, ids),
      this.emails.findContents(scope, ids),
      this.emails.findEvents(scope, ids),
    ]);
    const contentOf = new Map(contents.map((content) => [content.emailId, content]));
    const eventsOf = groupByEmail(events);
    return emails.map((email) => ({
      email,
      html: contentOf.get(email.id)?.html ?? null,
      text: contentOf.get(email.id)?.text ?? null,
      events: eventsOf.get(email.id) ?? [],
    }));
  }
}

function groupByEmail(events: readonly EmailEvent[]): Map<string, EmailEvent[]> {
  const groups = new Map<string, EmailEvent[]>();
  for (const event of events) {
    const group = groups.get(event.emailId);
    if (group) group.push(event);
    else groups.set(event.emailId, [event]);
  }
  return groups;
}

export type { SubjectRange, SubjectScope };
