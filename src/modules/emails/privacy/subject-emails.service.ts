import { Injectable } from '@nestjs/common';
import {
  type SubjectEmailHead,
  SubjectEmailsRepository,
  type SubjectEvent,
  type SubjectRange,
  type SubjectScope,
} from './subject-emails.repository';

/** An email to a data subject, whatever other recipients it had, with all that happened to it. */
export interface SubjectEmail extends SubjectEmailHead {
  /** In the order in which they were recorded, those of other recipients too. */
  readonly events: readonly SubjectEvent[];
}

/** What a page holds in memory, unless a single email has more. */
const PAGE = { emails: 100, bytes: 4 * 1024 * 1024 };

/** The emails of a data subject in an organization and mode, to be read for an export. */
@Injectable()
export class SubjectEmailsService {
  constructor(private readonly emails: SubjectEmailsRepository) {}

  /** The next emails to the subject, by id; empty after the last one. @throws UnavailableError */
  async page(scope: SubjectScope, range: SubjectRange): Promise<SubjectEmail[]> {
    return this.read(scope, await this.emails.list(scope, range, PAGE));
  }

  /**
   * The next emails from the subject, or that ask for replies to it, by id; and the last email that was looked at, null after all.
   * @throws UnavailableError
   */
  async sentPage(
    scope: SubjectScope,
    range: SubjectRange,
  ): Promise<{ readonly emails: SubjectEmail[]; readonly lastId: string | null }> {
    const { ids, lastId } = await this.emails.listSent(scope, range, PAGE);
    return { emails: await this.read(scope, ids), lastId };
  }

  private async read(scope: SubjectScope, ids: readonly string[]): Promise<SubjectEmail[]> {
    if (ids.length === 0) return [];
    const [emails, events] = await Promise.all([
      this.emails.findEmails(scope, ids),
      this.emails.findEvents(scope, ids),
    ]);
    const eventsOf = new Map<string, SubjectEvent[]>(emails.map(({ id }) => [id, []]));
    for (const event of events) eventsOf.get(event.emailId)?.push(event);
    return emails.map((email) => ({ ...email, events: eventsOf.get(email.id) ?? [] }));
  }
}

export type { SubjectRange, SubjectScope };
