import { Injectable } from '@nestjs/common';
import { Clock } from '../../common/clock';
import { AppError, NotFoundError, ValidationError } from '../../common/errors/app-error';
import { isUuid } from '../../common/ids';
import { parseAddress } from '../../common/mail-address';
import type { Tenant } from '../../common/tenant';
import { Database } from '../../database/pool/database.service';
import type { RecordedOutcome } from '../../delivery/ports/outcome';
import { OpenDeliveries } from '../../delivery/queue/open-deliveries.service';
import type { Waiting } from '../../delivery/queue/waiting';
import type { Email, EmailEvent, EmailRecipient } from './email.entity';
import {
  type EmailBodies,
  type EmailFilter,
  EmailListService,
  type ListedEmails,
  type ListPage,
} from './email-list.service';
import { EmailsRepository } from './emails.repository';
import { changeable } from './outcomes/erased-recipient';
import { lastDeferrals } from './email-lookup.service';
import { OutcomeRecorder } from './outcomes/outcome-recorder.service';

/** One page of a list, each email with its short bodies if they are still stored. */
export interface EmailPage extends Omit<ListedEmails, 'emails'> {
  readonly emails: readonly { readonly email: Email; readonly bodies: EmailBodies | undefined }[];
}

export interface RecipientDetail {
  readonly recipient: EmailRecipient;
  readonly nextAttemptAt: Date | undefined;
  /** What the delivery waits for; undefined when it has ended. */
  readonly waiting: Waiting | undefined;
}

export interface EmailDetail {
  readonly email: Email;
  readonly recipients: readonly RecipientDetail[];
  readonly events: readonly EmailEvent[];
}

/** Longer bodies are left out of lists: a page holds a hundred emails. */
const LISTED_BODY_BYTES = 64 * 1024;

/** Reads emails for clients, and cancels them. */
@Injectable()
export class EmailsService {
  constructor(
    private readonly emails: EmailsRepository,
    private readonly lists: EmailListService,
    private readonly open: OpenDeliveries,
    private readonly database: Database,
    private readonly outcomes: OutcomeRecorder,
    private readonly clock: Clock,
  ) {}

  /** One page, newest first. The filter's `recipient` is normalized. @throws ValidationError when it is no address */
  async list(tenant: Tenant, { recipient, ...others }: EmailFilter, page: ListPage): Promise<EmailPage> {
    const filter = { ...others, recipient: recipient === undefined ? undefined : normalForm(recipient) };
    const listed = await this.lists.page(tenant, filter, page);
    const ids = listed.emails.map((email) => email.id);
    const bodies = await this.lists.shortBodies(tenant, ids, LISTED_BODY_BYTES);
    const byId = new Map(bodies.map((body) => [body.emailId, body]));
    return { ...listed, emails: listed.emails.map((email) => ({ email, bodies: byId.get(email.id) })) };
  }

  /** @throws NotFoundError */
  async detail(tenant: Tenant, id: string): Promise<EmailDetail> {
    const found = isUuid(id) ? await this.emails.findWhole(tenant, id) : undefined;
    if (!found) throw new NotFoundError('Email');
    const { email, recipients, events } = found;
    const last = lastDeferrals(events);
    const known = recipients.map(({ position, address }) => [position, { address, last: last.get(address) }] as const);
    const open = await this.open.ofEmail(keyOf(email), new Map(known));
    const due = new Map(open.filter((row) => row.state !== 'claimed').map((row) => [row.position, row.dueAt]));
    const inHand = new Set(open.filter((row) => row.state === 'claimed').map((row) => row.position));
    const waiting = new Map(open.map((row) => [row.position, row.waiting]));
    const shown = recipients.map((recipient) => (inHand.has(recipient.position) ? asBegun(recipient) : recipient));
    return {
      email: inHand.size > 0 ? asBegun(email) : email,
      recipients: shown.map((recipient) => ({
        recipient,
        nextAttemptAt: due.get(recipient.position),
        waiting: waiting.get(recipient.position),
      })),
      events: oldestFirst(events),
    };
  }

  /** @throws NotFoundError */
  async events(tenant: Tenant, id: string): Promise<EmailEvent[]> {
    return oldestFirst(await this.emails.findEvents(keyOf(await this.require(tenant, id))));
  }

  /**
   * Cancels an email that no worker has started: all recipients or none; erased and ended ones do not count.
   * @throws NotFoundError, AppError email_not_cancellable
   */
  async cancel(tenant: Tenant, id: string): Promise<void> {
    const email = await this.require(tenant, id);
    const recipients = changeable(await this.emails.findRecipients(keyOf(email)));
    await this.database.transaction(async (tx) => {
      const withdrawn = await this.open.withdraw(keyOf(email), tx);
      const isBegun = withdrawn.length < recipients.length || (await this.emails.mayBeSent(keyOf(email), tx));
      if (withdrawn.length === 0 || isBegun) {
        throw new AppError('email_not_cancellable', 'The email is no longer scheduled or queued', {
          details: { status: asBegun(email).status },
        });
      }
      await this.outcomes.record(cancellations(email, recipients, this.clock.now()), tx);
    });
  }

  private async require(tenant: Tenant, id: string): Promise<Email> {
    const email = isUuid(id) ? await this.emails.find(tenant, id) : null;
    if (!email) throw new NotFoundError('Email');
    return email;
  }
}

function cancellations(email: Email, recipients: readonly EmailRecipient[], occurredAt: Date): RecordedOutcome[] {
  const outcome = { kind: 'failed', reason: 'cancelled' } as const;
  const shared = { ...keyOf(email), domainId: email.domainId, outcome, source: 'api', occurredAt } as const;
  return recipients.map(({ position, address }) => ({ ...shared, position, recipient: address }));
}

/** Shows an email as `sending` during its first attempt, which is recorded only when it ends, or after seconds. */
function asBegun<Row extends Pick<Email, 'status'>>(row: Row): Row {
  return row.status === 'queued' || row.status === 'scheduled' ? { ...row, status: 'sending' } : row;
}

/** Normalizes an address; other text is searched for unchanged, and matches nothing. */
function normalForm(recipient: string): string {
  const parsed = parseAddress(recipient);
  if (!parsed.ok) throw new ValidationError({ recipient: [`recipient ${parsed.message}`] });
  return parsed.email;
}

function keyOf({ organizationId, mode, id }: Email) {
  return { organizationId, mode, emailId: id };
}

export type { EmailBodies };

type Timed = Pick<EmailEvent, 'sequence' | 'occurredAt' | 'data'>;

/**
 * Sorts events, oldest first. Events of one recipient stay in recorded order, after those of the whole email: their times come
 * from several clocks, by which a mail could be delivered before it was queued.
 * @param recorded by sequence
 */
export function oldestFirst<E extends Timed>(recorded: readonly E[]): E[] {
  const latestOf = new Map<unknown, number>();
  let latestOfAll = -Infinity;
  const placed = recorded.map((event) => {
    const { recipient } = event.data;
    const atMs = Math.max(event.occurredAt.getTime(), latestOfAll, latestOf.get(recipient) ?? -Infinity);
    if (recipient === undefined) latestOfAll = atMs;
    else latestOf.set(recipient, atMs);
    return { event, atMs };
  });
  placed.sort((one, other) => one.atMs - other.atMs || one.event.sequence - other.event.sequence);
  return placed.map(({ event }) => event);
}
