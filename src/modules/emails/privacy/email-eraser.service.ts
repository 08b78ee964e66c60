import { Injectable } from '@nestjs/common';
import { Clock } from '../../../common/clock';
import { idsOf } from '../../events/event-rows';
import type { Transaction } from '../../../database/statements/transaction';
import { erasedAddress } from '../outcomes/erased-recipient';
import { eraseContent, eraseEventData, eraseHead, type SubjectIn } from './erase-texts';
import { ErasableEmailsRepository } from './subject-emails.repository';
import type { ErasedSubject } from './sql/erased.sql';

/** An email to be erased; `position` is that of the subject among the recipients, null when the subject is not a recipient. */
export interface NamedEmail {
  readonly emailId: string;
  readonly position: number | null;
  /** Whether there are other recipients. */
  readonly isShared: boolean;
}

export interface ErasedCounts {
  readonly emails: number;
  readonly events: number;
  readonly contents: number;
  /** Ids of the emails' events, of which other features may hold copies. */
  readonly eventIds: readonly string[];
}

const NOTHING: ErasedCounts = { emails: 0, events: 0, contents: 0, eventIds: [] };
/**
 * Events of one email, and emails, of which events are read at a time. A reply has up to 10 kB, and one made to be slow takes 20 ms: between
 * two statements of a transaction are seconds at most.
 */
const EVENTS = 40;
const EMAILS = 5;

/**
 * Removes a subject from emails, in the caller's transaction: heads, recipients, events, bodies and headers, one body at a
 * time. Attachments have been searched before (`AttachmentEraser`).
 */
@Injectable()
export class EmailEraser {
  constructor(
    private readonly emails: ErasableEmailsRepository,
    private readonly clock: Clock,
  ) {}

  /** Erases the subject and locks the emails: no outcome is written until the transaction ends. */
  async erase(subject: ErasedSubject, emails: readonly NamedEmail[], tx: Transaction): Promise<ErasedCounts> {
    if (emails.length === 0) return NOTHING;
    const byId = new Map(emails.map((email) => [email.emailId, email]));
    await this.emails.lock(subject, [...byId.keys()], tx);
    await this.eraseRecipients(subject, byId, tx);
    const heads = await this.eraseHeads(subject, byId, tx);
    const contents = await this.eraseContents(subject, byId, tx);
    return { emails: heads, contents, ...(await this.eraseEvents(subject, byId, tx)) };
  }

  private async eraseRecipients(subject: ErasedSubject, emails: Emails, tx: Transaction): Promise<void> {
    const found = await this.emails.readRecipients(subject, [...emails.keys()], tx);
    const erased = await subject.finder.turns.map(found, (row) => {
      const { emailId, position, lastResponse } = row;
      if (emails.get(emailId)?.position === position) {
        return { ...row, address: erasedAddress(position), lastResponse: null };
      }
      return { ...row, lastResponse: lastResponse && subject.finder.clean(lastResponse) };
    });
    const isChanged = (index: number) =>
      erased[index]?.address !== found[index]?.address || erased[index]?.lastResponse !== found[index]?.lastResponse;
    const changed = erased.filter((_row, index) => isChanged(index));
    if (changed.length > 0) this.emails.writeRecipients(subject, changed, tx);
  }

  private async eraseHeads(subject: ErasedSubject, emails: Emails, tx: Transaction): Promise<number> {
    const found = await this.emails.readHeads(subject, [...emails.keys()], tx);
    const erased = await subject.finder.turns.map(found, async ({ id, head }) => {
      return { id, head: await eraseHead(head, placeOf(subject, emails, id), emails.get(id)?.isShared === true) };
    });
    this.emails.writeHeads(subject, erased, this.clock.now(), tx);
    return erased.length;
  }

  /** Returns the number of deleted contents. */
  private async eraseContents(subject: ErasedSubject, emails: Emails, tx: Transaction): Promise<number> {
    for (const { emailId, isShared } of emails.values()) {
      const content = isShared ? await this.emails.readContent(subject, emailId, tx) : undefined;
      if (!content) continue;
      const cleaned = await eraseContent(content, placeOf(subject, emails, emailId));
      // Awaited, so that one body at a time is in memory.
      await this.emails.writeContent(subject, emailId, cleaned, tx);
    }
    const sole = [...emails.values()].filter(({ isShared }) => !isShared).map(({ emailId }) => emailId);
    return sole.length > 0 ? this.emails.deleteContents(subject, sole, tx) : 0;
  }

  /** Returns the number of changed events. */
  private async eraseEvents(
    subject: ErasedSubject,
    emails: Emails,
    tx: Transaction,
  ): Promise<Pick<ErasedCounts, 'events' | 'eventIds'>> {
    let count = 0;
    const eventIds: string[] = [];
    const places = [...emails.keys()].map((emailId) => ({ emailId, sequence: 0 }));
    while (places.length > 0) {
      const found = await this.emails.readEvents(subject, places.splice(0, EMAILS), EVENTS, tx);
      const erased = await subject.finder.turns.map(found, async (event) => {
        return { ...event, data: await eraseEventData(event, placeOf(subject, emails, event.emailId)) };
      });
      const changed = erased.filter(({ data }, index) => data !== found[index]?.data);
      if (changed.length > 0) this.emails.writeEvents(subject, changed, tx);
      count += changed.flatMap(idsOf).length;
      for (const row of found) eventIds.push(...idsOf(row));
      places.push(...nextPlaces(found));
    }
    return { events: count, eventIds };
  }
}

type Emails = ReadonlyMap<string, NamedEmail>;

function placeOf({ keys, finder }: ErasedSubject, emails: Emails, emailId: string): SubjectIn {
  return { keys, finder, position: emails.get(emailId)?.position ?? null };
}

/** Start of the next page for emails whose page was full. */
function nextPlaces(found: readonly { readonly emailId: string; readonly sequence: number }[]) {
  const pages = new Map<string, { emailId: string; sequence: number; count: number }>();
  for (const { emailId, sequence } of found) {
    const count = (pages.get(emailId)?.count ?? 0) + 1;
    pages.set(emailId, { emailId, sequence, count });
  }
  return [...pages.values()].filter(({ count }) => count === EVENTS);
}
