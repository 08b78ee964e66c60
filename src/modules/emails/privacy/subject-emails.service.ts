import { Injectable } from '@nestjs/common';
import { headersOf, RawMessagesService } from '../content/raw-messages.service';
import {
  type SubjectEmailHead,
  SubjectEmailsRepository,
  type SubjectEvent,
  type SubjectRange,
  type SubjectScope,
} from './subject-emails.repository';

/** An email to a data subject, also with other recipients, and its events. */
export interface SubjectEmail extends SubjectEmailHead {
  /** In the order in which they were recorded, including those of other recipients. */
  readonly events: readonly SubjectEvent[];
}

/** Limits of a page in memory, unless a single email has more. */
const PAGE = { emails: 100, bytes: 4 * 1024 * 1024 };

/** The emails of a data subject in an organization and mode, to be read for an export. */
@Injectable()
export class SubjectEmailsService {
  constructor(
    private readonly emails: SubjectEmailsRepository,
    private readonly messages: RawMessagesService,
  ) {}

  /** The next emails to the subject, by id; empty after the last one. @throws UnavailableError */
  async page(scope: SubjectScope, range: SubjectRange): Promise<SubjectEmail[]> {
    return this.read(scope, await this.emails.list(scope, range, PAGE));
  }

  /**
   * The next emails from the subject, or with its address as reply-to, by id; and the last examined email, null at the end.
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
    const emails = await this.emails.findEmails(scope, ids);
    const events = await this.emails.findEvents(scope, ids);
    const eventsOf = new Map<string, SubjectEvent[]>(emails.map(({ id }) => [id, []]));
    for (const event of events) eventsOf.get(event.emailId)?.push(event);
    const shown: SubjectEmail[] = [];
    for (const head of emails) {
      const email = head.isRaw ? await this.withRawContent(head, scope) : head;
      shown.push({ ...email, events: eventsOf.get(email.id) ?? [] });
    }
    return shown;
  }

  private async withRawContent(head: SubjectEmailHead, scope: SubjectScope): Promise<SubjectEmailHead> {
    const { organizationId, mode } = scope;
    const message = await this.messages.read({ organizationId, mode, emailId: head.id });
    if (!message) return head;
    const { text = null, html = null, files } = message;
    const attachments = files.map(({ filename, contentType, size }) => ({ filename, contentType, sizeBytes: size }));
    return {
      ...head,
      text,
      html,
      headers: headersOf(message),
      attachments: attachments.length > 0 ? attachments : null,
    };
  }
}

export type { SubjectRange, SubjectScope };
