import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { In, type Repository, type SelectQueryBuilder } from 'typeorm';
import type { Mode } from '../../common/mode';
import { MINUTE } from '../../common/clock';
import { firstIdAt } from '../../common/ids';
import type { EmailKey } from '../../delivery/ports/delivery';
import { Email } from './email.entity';
import { EmailContent } from './email-content.entity';
import { EmailEvent } from './email-event.entity';
import { EmailRecipient } from './email-recipient.entity';
import type { EmailStatus } from './outcomes/recipient-state';

/** Whose emails may be seen. */
export interface Viewer {
  readonly organizationId: string;
  readonly mode: Mode;
  /** Set when the API key is bound to one domain. */
  readonly domainId: string | undefined;
}

export interface EmailFilter {
  readonly status?: EmailStatus;
  readonly tag?: string;
  /** Normal form. */
  readonly recipient?: string;
  readonly domainId?: string;
  readonly from?: Date;
  readonly to?: Date;
}

@Injectable()
export class EmailsRepository {
  constructor(
    @InjectRepository(Email) private readonly emails: Repository<Email>,
    @InjectRepository(EmailContent) private readonly contents: Repository<EmailContent>,
    @InjectRepository(EmailRecipient) private readonly recipients: Repository<EmailRecipient>,
    @InjectRepository(EmailEvent) private readonly events: Repository<EmailEvent>,
  ) {}

  find({ organizationId, mode, domainId }: Viewer, id: string): Promise<Email | null> {
    return this.emails.findOneBy({ organizationId, mode, id, ...(domainId !== undefined && { domainId }) });
  }

  /** Newest first. `after`: only emails older than this id; `offset` is then counted from there. */
  listPage(
    viewer: Viewer,
    filter: EmailFilter,
    page: { limit: number; offset: number; after?: string },
  ): Promise<Email[]> {
    const query = this.matching(viewer, filter).orderBy('email.id', 'DESC').take(page.limit).skip(page.offset);
    if (page.after !== undefined) query.andWhere('email.id < :after', { after: page.after });
    return query.getMany();
  }

  count(viewer: Viewer, filter: EmailFilter): Promise<number> {
    return this.matching(viewer, filter).getCount();
  }

  findContents(viewer: Viewer, emailIds: readonly string[]): Promise<EmailContent[]> {
    const { organizationId, mode } = viewer;
    return this.contents.findBy({ organizationId, mode, emailId: In(emailIds) });
  }

  findRecipients({ organizationId, mode, emailId }: EmailKey): Promise<EmailRecipient[]> {
    return this.recipients.find({ where: { organizationId, mode, emailId }, order: { position: 'ASC' } });
  }

  findEvents({ organizationId, mode, emailId }: EmailKey): Promise<EmailEvent[]> {
    return this.events.find({
      where: { organizationId, mode, emailId },
      order: { occurredAt: 'ASC', sequence: 'ASC' },
    });
  }

  private matching(viewer: Viewer, filter: EmailFilter): SelectQueryBuilder<Email> {
    const query = this.emails
      .createQueryBuilder('email')
      .where('email.organizationId = :organizationId and email.mode = :mode', {
        organizationId: viewer.organizationId,
        mode: viewer.mode,
      });
    if (viewer.domainId !== undefined) query.andWhere('email.domainId = :bound', { bound: viewer.domainId });
    if (filter.domainId !== undefined) query.andWhere('email.domainId = :domainId', { domainId: filter.domainId });
    if (filter.status !== undefined) query.andWhere('email.status = :status', { status: filter.status });
    if (filter.tag !== undefined) query.andWhere(':tag = any(email.tags)', { tag: filter.tag });
    createdBetween(query, filter.from, filter.to);
    if (filter.recipient !== undefined) sentTo(query, filter.recipient);
    return query;
  }
}

/** Ids are made a moment before their emails are written. */
const ID_LEAD_MS = MINUTE;

/** A range of time is about a range of ids: the primary key and the partitions serve that, and the rest is exact. */
function createdBetween(query: SelectQueryBuilder<Email>, from: Date | undefined, to: Date | undefined): void {
  if (from) {
    query.andWhere('email.id >= :fromId and email.createdAt >= :from', {
      from,
      fromId: firstIdAt(new Date(from.getTime() - ID_LEAD_MS)),
    });
  }
  if (to) {
    query.andWhere('email.id < :toId and email.createdAt < :to', {
      to,
      toId: firstIdAt(new Date(to.getTime() + ID_LEAD_MS)),
    });
  }
}

/** Narrows the query to emails with this recipient; uses the query's own organization and mode. */
function sentTo(query: SelectQueryBuilder<Email>, recipient: string): void {
  const ids = query
    .subQuery()
    .select('recipient.emailId')
    .from(EmailRecipient, 'recipient')
    .where('recipient.organizationId = :organizationId and recipient.mode = :mode')
    .andWhere('lower(recipient.address) = lower(:recipient)');
  query.andWhere(`email.id in ${ids.getQuery()}`).setParameter('recipient', recipient);
}
