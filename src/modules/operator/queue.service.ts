import { Injectable } from '@nestjs/common';
import { AuditService, INSTALLATION } from '../../audit/audit.service';
import { OrganizationsService } from '../../auth/organizations/organizations.service';
import { BriefCache } from '../../common/async/promises';
import { Clock, SECOND } from '../../common/clock';
import { ValidationError } from '../../common/errors/app-error';
import { NIL_ID } from '../../common/ids';
import {
  type DeliveryCursor,
  type DeliveryFilter,
  DeliveryQueueRepository,
  type ListedDelivery,
  QUEUE_GROUPS,
  type QueueGroup,
  type QueueShare,
} from '../../delivery/queue/delivery-queue.repository';
import { type NewQueueAction, QueueActionsService } from '../../delivery/queue/queue-actions.service';
import { type Waiting, waitingOf } from '../../delivery/queue/waiting';
import { HeldDestinations } from '../../delivery/shaping/held-destinations.service';
import { EmailLookupService } from '../emails/email-lookup.service';

/** Requests within this time get the same count. */
const CACHE_MS = 2 * SECOND;
const MAX_SHARES = 500;
/** Mails to an address; most have got fewer. */
const MOST_LOOKED_UP = 2_000;

/** Before the first delivery of an organization, or of all. */
const startOf = (organizationId = NIL_ID): DeliveryCursor => ({
  organizationId,
  mode: '',
  emailId: NIL_ID,
  position: -1,
});

/** A share of the queue, with the name of the organization that its key identifies. */
export type NamedShare = QueueShare & { readonly name?: string };

/** The queue for operators: counts, workers and actions. */
@Injectable()
export class OperatorQueueService {
  private readonly shares: ReadonlyMap<QueueGroup, BriefCache<QueueShare[]>>;

  constructor(
    private readonly view: DeliveryQueueRepository,
    private readonly actions: QueueActionsService,
    private readonly organizations: OrganizationsService,
    private readonly audit: AuditService,
    clock: Clock,
  ) {
    const cacheOf = (group: QueueGroup) => new BriefCache(() => this.view.countBy(group, MAX_SHARES), CACHE_MS, clock);
    this.shares = new Map(QUEUE_GROUPS.map((group) => [group, cacheOf(group)]));
  }

  /** Running worker processes, oldest first. */
  workers() {
    return this.view.listWorkers();
  }

  /** The largest shares first, at most a few seconds old. */
  async countBy(group: QueueGroup, limit: number): Promise<NamedShare[]> {
    const counted = ((await this.shares.get(group)?.get()) ?? []).slice(0, limit);
    if (group !== 'organization') return counted;
    const names = await this.organizations.namesOf(counted.map(({ key }) => key));
    return counted.map((share) => ({
      ...share,
      ...(names.has(share.key) && { name: names.get(share.key) }),
    }));
  }

  /**
   * Stores an action; a worker starts it within a second. The audit log of an organization has it if it names the organization or an
   * email of it; what a test key may not see is known by the mode of the email.
   * @throws ValidationError for an empty filter, or an unknown organization
   */
  async start(wanted: NewQueueAction) {
    const { action, filter, actor } = wanted;
    const named = filter.organizationId?.toLowerCase();
    await this.assertKnown(named);
    const emailId = filter.emailId?.toLowerCase();
    const ofEmail = await this.openDeliveryOf(emailId, named);
    return this.actions.create(wanted, async (id, tx) => {
      const { destination, recipient } = filter;
      const about = { ...(ofEmail && { mode: ofEmail.mode }), ...(recipient !== undefined && { recipient: true }) };
      const data = { action, destination, emailId, ...about };
      const target = { targetType: 'queue_action', targetId: id };
      const concerned = named ?? ofEmail?.organizationId ?? INSTALLATION;
      await this.audit.record([{ organizationId: concerned, actor, action: `queue.${action}`, ...target, data }], tx);
    });
  }

  /** One of them shows whose email it is, and in which mode; an email without any is not changed by an action. */
  private async openDeliveryOf(emailId: string | undefined, organizationId: string | undefined) {
    if (emailId === undefined) return undefined;
    const [delivery] = await this.view.list({ emailId, organizationId }, startOf(organizationId), 1);
    return delivery;
  }

  /** An action for a mistyped id would complete without a match. */
  private async assertKnown(organizationId: string | undefined): Promise<void> {
    if (organizationId === undefined || (await this.organizations.namesOf([organizationId])).size > 0) return;
    throw new ValidationError({ 'filter.organizationId': ['filter.organizationId must name an organization'] });
  }

  /** @throws NotFoundError */
  get(id: string) {
    return this.actions.get(id);
  }
}

export type QueueActionState = Awaited<ReturnType<QueueActionsService['get']>>;

export interface WaitingDelivery extends ListedDelivery {
  readonly waiting: Waiting;
}

/** Open deliveries of all organizations, each with the reason for waiting, as operators see them. */
@Injectable()
export class OperatorDeliveriesService {
  constructor(
    private readonly queue: DeliveryQueueRepository,
    private readonly held: HeldDestinations,
    private readonly emails: EmailLookupService,
  ) {}

  /** One page in the order of their keys, and whether there are more. */
  async list(
    filter: DeliveryFilter,
    after: DeliveryCursor | undefined,
    limit: number,
  ): Promise<{ deliveries: WaitingDelivery[]; hasMore: boolean }> {
    const found = await this.find(filter, after ?? startOf(filter.organizationId), limit + 1);
    const page = found.slice(0, limit);
    const [last, held] = await Promise.all([this.emails.lastDeferrals(page), this.held.get()]);
    const deliveries = page.map((delivery, index) => {
      const destination = delivery.mode === 'live' ? held.of(delivery.destination, last[index]?.mxHost) : undefined;
      return { ...delivery, waiting: waitingOf(delivery, last[index], destination) };
    });
    return { deliveries, hasMore: found.length > limit };
  }

  /**
   * Those to an address are looked up by what was sent to it: a walk of a queue of a million took seconds. For an address that gets very
   * much mail the walk is the cheaper way.
   */
  private async find(filter: DeliveryFilter, after: DeliveryCursor, limit: number): Promise<ListedDelivery[]> {
    const { recipient, emailId } = filter;
    if (recipient === undefined || emailId !== undefined) return this.queue.list(filter, after, limit);
    const keys = await this.emails.findAddressed(recipient, after, MOST_LOOKED_UP);
    if (keys.length === MOST_LOOKED_UP) return this.queue.list(filter, after, limit);
    return this.queue.listAmong(keys, filter, after, limit);
  }
}
