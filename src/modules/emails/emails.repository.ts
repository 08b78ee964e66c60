import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { In, IsNull, LessThanOrEqual, Not, type Repository } from 'typeorm';
import { expandEvents } from '../events/event-rows';
import { INLINE_IMAGE_TYPES, type InlinePart, MAX_INLINE_IMAGE_BYTES } from '../../common/mime/inline-images';
import { groupByTenant, type Tenant, acrossTenants, currentRequest } from '../../common/tenant';
import { Database } from '../../database/pool/database.service';
import { ReadDatabase } from '../../database/pool/read-database.service';
import type { Transaction } from '../../database/statements/transaction';
import type { DeliveryKey, EmailKey } from '../../delivery/ports/delivery';
import { Email, EmailAttachment, EmailContent, EmailEvent, EmailRecipient } from './email.entity';
import type { IdRange } from './id-range';
import {
  addScheduledEvent,
  type Deferral,
  findDeferrals,
  findUnknown,
  rescheduleEmail,
  rescheduleRecipients,
} from './sql/change-emails.sql';
import { findAddressed, type KeyPlace } from './sql/find-addressed.sql';
import { countIds, listIds, type Page, SEARCH_WINDOW, searchEmails, type SearchTerms } from './sql/list-emails.sql';
import {
  findMailRecipients,
  type LoadedMessage,
  loadMessages,
  type MailRecipient,
  readAttachmentPart,
} from './sql/load-messages.sql';

/** Images of an email that are embedded in its html. */
const MAX_IMAGES = 20;
/** Bytes of an attachment per query, which the driver converts in some milliseconds. */
const PART_BYTES = 1024 * 1024;

export interface WholeEmail {
  readonly email: Email;
  readonly recipients: readonly EmailRecipient[];
  readonly events: readonly EmailEvent[];
}

/** Reads single emails, messages to be sent, and recipients. */
@Injectable()
export class EmailsRepository {
  constructor(
    private readonly database: Database,
    @InjectRepository(Email) private readonly emails: Repository<Email>,
    @InjectRepository(EmailAttachment) private readonly attachments: Repository<EmailAttachment>,
    @InjectRepository(EmailRecipient) private readonly recipients: Repository<EmailRecipient>,
    @InjectRepository(EmailEvent) private readonly events: Repository<EmailEvent>,
  ) {}

  find({ organizationId, mode, domainId }: Tenant, id: string, emails = this.emails): Promise<Email | null> {
    return emails.findOneBy({ organizationId, mode, id, ...(domainId !== undefined && { domainId }) });
  }

  /** The email with its recipients and events, in one snapshot. */
  findWhole(tenant: Tenant, id: string): Promise<WholeEmail | undefined> {
    return this.database.snapshot(async ({ manager }) => {
      const email = await this.find(tenant, id, manager.getRepository(Email));
      if (!email) return undefined;
      const key = { ...tenant, emailId: id };
      return {
        email,
        recipients: await this.findRecipients(key, manager.getRepository(EmailRecipient)),
        events: await this.findEvents(key, manager.getRepository(EmailEvent)),
      };
    });
  }

  findRecipients({ organizationId, mode, emailId }: EmailKey, recipients = this.recipients): Promise<EmailRecipient[]> {
    return recipients.find({ where: { organizationId, mode, emailId }, order: { position: 'ASC' } });
  }

  /** The events in the order in which they were recorded, since times come from several clocks. */
  async findEvents({ organizationId, mode, emailId }: EmailKey, events = this.events): Promise<EmailEvent[]> {
    return expandEvents(await events.find({ where: { organizationId, mode, emailId }, order: { sequence: 'ASC' } }));
  }

  findAddressed(recipient: string, after: KeyPlace, limit: number): Promise<DeliveryKey[]> {
    return this.database.run(findAddressed(recipient, after, limit));
  }

  /** The last deferred attempt at each recipient of some emails. */
  async findDeferrals(emails: readonly EmailKey[]): Promise<Deferral[]> {
    const statements = groupByTenant(emails).map(({ tenant, rows }) => findDeferrals(tenant, rows));
    return (await this.database.runAll(statements)).flat();
  }

  /** The attachments without their bytes. */
  listAttachments(
    { organizationId, mode, emailId }: EmailKey,
    attachments = this.attachments,
  ): Promise<EmailAttachment[]> {
    return attachments.find({ where: { organizationId, mode, emailId }, order: { position: 'ASC' } });
  }

  /** Images that the html may refer to, with their bytes. */
  async loadImages({ organizationId, mode, emailId }: EmailKey): Promise<InlinePart[]> {
    const found = await this.attachments.find({
      select: { position: true, contentType: true, contentId: true, content: true },
      where: {
        ...{ organizationId, mode, emailId, contentId: Not(IsNull()), contentType: In(INLINE_IMAGE_TYPES) },
        size: LessThanOrEqual(MAX_INLINE_IMAGE_BYTES),
      },
      order: { position: 'ASC' },
      take: MAX_IMAGES,
    });
    return found.map(({ contentType, contentId, content }) => ({
      ...{ type: contentType, contentId: contentId ?? undefined, bytes: content },
    }));
  }

  /** The attachments with their bytes, read in parts. In one snapshot, since an erasure may change them. */
  loadAttachments(key: EmailKey): Promise<EmailAttachment[]> {
    return this.database.snapshot(async (tx) => {
      const found = await this.listAttachments(key, tx.manager.getRepository(EmailAttachment));
      for (const attachment of found) attachment.content = await readContent(key, attachment, tx);
      return found;
    });
  }

  /** Everything that composing needs, except attachments and bodies that do not fit into `maxBodyBytes`. */
  async loadMessages(emails: readonly EmailKey[], maxBodyBytes: number): Promise<LoadedMessage[]> {
    // Each tenant has a share of the space, by its number of emails: larger bodies are read one by one.
    const statements = groupByTenant(emails).map(({ tenant, rows }) =>
      loadMessages(
        tenant,
        rows.map((row) => row.emailId),
        (maxBodyBytes * rows.length) / emails.length,
      ),
    );
    return (await this.database.runAll(statements)).flat();
  }

  /** The recipients of deliveries, in any order; unknown ones are left out. */
  async findMailRecipients(keys: readonly DeliveryKey[]): Promise<MailRecipient[]> {
    const statements = groupByTenant(keys).map(({ tenant, rows }) => findMailRecipients(tenant, rows));
    return (await this.database.runAll(statements)).flat();
  }

  /** Whether a worker crashed with it, and may have sent it; its deliveries are to be locked. */
  async mayBeSent(email: EmailKey, tx: Transaction): Promise<boolean> {
    const [found] = await tx.run(findUnknown(email));
    return found !== undefined;
  }

  /** Records the new time of an email, in the transaction that reschedules its deliveries. */
  async reschedule(email: EmailKey, scheduledAt: Date, now: Date, tx: Transaction): Promise<void> {
    const [changed] = await tx.run(rescheduleEmail(email, scheduledAt, now));
    if (!changed) return;
    tx.write(rescheduleRecipients(email, now));
    tx.write(addScheduledEvent(email, changed.sequence, scheduledAt));
  }
}

async function readContent(key: EmailKey, { position, size }: EmailAttachment, tx: Transaction): Promise<Buffer> {
  const content = Buffer.allocUnsafe(size);
  let length = 0;
  for (let from = 1; from <= size; from += PART_BYTES) {
    const [row] = await tx.run(readAttachmentPart(key, position, { from, length: PART_BYTES }));
    length += row?.part.copy(content, length) ?? 0;
  }
  return content.subarray(0, length);
}

export type { KeyPlace, LoadedMessage, MailRecipient };

export type EmailBodies = Pick<EmailContent, 'emailId' | 'html' | 'text'>;

/** The matches among the emails that a search has examined. */
export interface FoundEmails {
  readonly ids: readonly string[];
  readonly total: number;
  /** Set when there are more emails than were examined: the id where the search stopped. */
  readonly stoppedAt: string | undefined;
}

/** Reads lists of emails, from the replica if there is one. */
@Injectable()
export class EmailListsRepository {
  constructor(private readonly reads: ReadDatabase) {}

  /** A page of the ids of the ranges, newest first. */
  async listIds(tenant: Tenant, ranges: readonly IdRange[], page: Page): Promise<string[]> {
    if (ranges.length === 0) return [];
    return (await this.reads.run(listIds(tenant, ranges, page))).map(({ id }) => id);
  }

  async count(tenant: Tenant, range: IdRange): Promise<number> {
    const [row] = await this.reads.run(countIds(tenant, range));
    return row?.emails ?? 0;
  }

  async search(tenant: Tenant, range: IdRange, terms: SearchTerms, page: Page): Promise<FoundEmails> {
    const statement = searchEmails(tenant, range, terms, page);
    // Without row-level security: lower() is not leakproof, so a policy keeps the planner from using an index on it.
    const isByAddress = terms.recipient !== undefined;
    const read = () => this.reads.run(statement);
    const [found] = await (isByAddress ? acrossTenants(read, currentRequest()) : read());
    if (!found) return { ids: [], total: 0, stoppedAt: undefined };
    const { ids, total, examined, oldest } = found;
    return { ids, total, stoppedAt: examined === SEARCH_WINDOW && oldest !== null ? oldest : undefined };
  }

  /** The emails with these ids, newest first; deleted ones are left out. */
  async findAll({ organizationId, mode }: Tenant, ids: readonly string[]): Promise<Email[]> {
    if (ids.length === 0) return [];
    const emails = await this.reads.find((manager) =>
      manager.getRepository(Email).findBy({ organizationId, mode, id: In(ids) }),
    );
    return emails.sort((one, other) => (one.id < other.id ? 1 : -1));
  }

  /** Bodies of at most `maxBytes`; Postgres determines the length of longer ones without reading them. */
  findShortBodies(
    { organizationId, mode }: Tenant,
    emailIds: readonly string[],
    maxBytes: number,
  ): Promise<EmailBodies[]> {
    if (emailIds.length === 0) return Promise.resolve([]);
    return this.reads.find((manager) =>
      manager
        .getRepository(EmailContent)
        .createQueryBuilder('c')
        .select('c.email_id', 'emailId')
        .addSelect('case when octet_length(c.html) <= :maxBytes then c.html end', 'html')
        .addSelect('case when octet_length(c.text) <= :maxBytes then c.text end', 'text')
        .where({ organizationId, mode, emailId: In(emailIds) })
        .setParameters({ maxBytes })
        .getRawMany<EmailBodies>(),
    );
  }
}

export type { Page };
