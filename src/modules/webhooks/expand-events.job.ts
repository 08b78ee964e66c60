import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Clock, SECOND } from '../../common/clock';
import { UnavailableError } from '../../common/errors/app-error';
import { firstIdAt, timeOfId } from '../../common/ids';
import { PeriodicJobs } from '../../common/jobs/periodic-jobs';
import { EventsService, type FeedEvent } from '../events/events.service';
import { DispatchMetrics } from './dispatch.metrics';
import { WebhookEndpointsRepository } from './webhook-endpoints.repository';
import {
  type Advance,
  type EndpointKey,
  type Follower,
  isSubscribed,
  MAX_PENDING,
  type NewMessage,
} from './webhook-queue';

const EVERY_MS = SECOND / 2;
/** Runs that are skipped after one that found nothing. */
const IDLE_RUNS = 2;
/** Endpoints at a time, and events for each that differs in where it stands: what is in memory at once. */
const FOLLOWERS = 50;
const EVENTS = 100;
/** Of one organization in a page: fifty endpoints of one get ten each, so that they delay those of others for little. */
const MESSAGES_OF_ONE = 500;
/** Beyond the one for each: shared by endpoints that are behind, so that a long backlog does not delay the next pass. */
const MORE_PAGES = 20;
const FIRST: EndpointKey = { organizationId: firstIdAt(new Date(0)), mode: 'live', endpointId: firstIdAt(new Date(0)) };

/**
 * Turns events into messages: follows the event log for each enabled endpoint, from its position on. Those of one organization
 * that stand at the same event read together. Where several processes do this, one of them moves an endpoint on.
 */
@Injectable()
export class ExpandEventsJob implements OnApplicationBootstrap {
  private runsToSkip = 0;
  private onMessages: () => void = () => undefined;

  constructor(
    private readonly feed: EventsService,
    private readonly endpoints: WebhookEndpointsRepository,
    private readonly jobs: PeriodicJobs,
    private readonly metrics: DispatchMetrics,
    private readonly clock: Clock,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.start({ name: 'expand-webhooks', everyMs: EVERY_MS, run: () => this.run() });
  }

  /** @param listener is called when there are new messages. */
  listen(listener: () => void): void {
    this.onMessages = listener;
  }

  /**
   * Passes once through all endpoints, a page of events for each; then some more pages for those that are behind. Returns how
   * many events were read.
   * @throws UnavailableError
   */
  async expand(): Promise<number> {
    const behind: Follower[] = [];
    let count = 0;
    for (let after = FIRST, isMore = true; isMore;) {
      const followers = await this.endpoints.followers(after, MAX_PENDING, FOLLOWERS);
      const { events, left } = await this.followOrPassOver(followers);
      count += events;
      behind.push(...left.slice(0, MORE_PAGES * FOLLOWERS - behind.length));
      after = followers.at(-1) ?? after;
      isMore = followers.length === FOLLOWERS;
    }
    count += await this.followOn(behind);
    this.metrics.expanded();
    return count;
  }

  private async run(): Promise<void> {
    if (this.runsToSkip > 0) {
      this.runsToSkip -= 1;
      return;
    }
    if ((await this.expand()) === 0) this.runsToSkip = IDLE_RUNS;
  }

  private async followOn(behind: Follower[]): Promise<number> {
    const endMs = this.clock.monotonicMs() + EVERY_MS;
    let count = 0;
    for (let page = 0; page < MORE_PAGES && behind.length > 0 && this.clock.monotonicMs() < endMs; page += 1) {
      const { events, left } = await this.followOrPassOver(behind.splice(0, FOLLOWERS));
      count += events;
      behind.push(...left);
    }
    return count;
  }

  /** An endpoint whose messages cannot be made is left where it stands; those beside it go on. @throws UnavailableError */
  private async followOrPassOver(followers: readonly Follower[]): Promise<Followed> {
    try {
      return await this.followOnePage(followers);
    } catch (error) {
      if (error instanceof UnavailableError) throw error;
    }
    const followed: Followed[] = [];
    for (const follower of followers) {
      await this.jobs.attempt(`The expansion for webhook ${follower.endpointId}`, async () => {
        followed.push(await this.followOnePage([follower]));
      });
    }
    return {
      events: followed.reduce((sum, { events }) => sum + events, 0),
      left: followed.flatMap(({ left }) => left),
    };
  }

  /** Returns the endpoints with more to read, at their new positions. */
  private async followOnePage(followers: readonly Follower[]): Promise<Followed> {
    const streams = groupByStream(followers);
    const pages = await this.feed.readAfter(
      streams.map(([{ organizationId, mode, position }]) => ({ organizationId, mode, after: position })),
      EVENTS,
    );
    const limitOf = messagesOfEach(followers);
    const steps = streams.flatMap((members, index) =>
      members.flatMap((one) => stepOf(one, pages[index] ?? [], limitOf(one))),
    );
    if (steps.length === 0) return { events: 0, left: [] };
    const messages = steps.flatMap((step) => step.messages);
    await this.endpoints.advance(steps, messages, this.clock.now());
    if (messages.length > 0) this.onMessages();
    this.metrics.lagged(pages.flatMap(([first]) => (first ? [timeOfId(first.id)] : [])));
    const left = steps.filter((step) => step.isFull).map(({ follower, next }) => ({ ...follower, position: next }));
    return { events: pages.reduce((sum, page) => sum + page.length, 0), left };
  }
}

interface Followed {
  /** How many were read. */
  readonly events: number;
  readonly left: readonly Follower[];
}

interface Step extends Advance {
  readonly follower: Follower;
  readonly messages: readonly NewMessage[];
  readonly isFull: boolean;
}

/** How many messages each endpoint gets of a page. */
function messagesOfEach(followers: readonly Follower[]): (one: Follower) => number {
  const endpoints = new Map<string, number>();
  for (const { organizationId } of followers) endpoints.set(organizationId, (endpoints.get(organizationId) ?? 0) + 1);
  return ({ organizationId }) => Math.min(EVENTS, Math.ceil(MESSAGES_OF_ONE / (endpoints.get(organizationId) ?? 1)));
}

/** Nothing when there is nothing to read. */
function stepOf(follower: Follower, page: readonly FeedEvent[], limit: number): Step[] {
  const { organizationId, mode, endpointId, position } = follower;
  const wanted = page.filter((event) => isSubscribed(follower, event, endpointId));
  const last = wanted.length > limit ? wanted[limit - 1] : page.at(-1);
  if (!last) return [];
  const messages = wanted
    .slice(0, limit)
    .map(({ id, emailId, sequence, eventType }) => ({ endpointId, id, emailId, sequence, eventType }));
  const advance = { organizationId, mode, endpointId, position, next: last.id };
  return [{ ...advance, follower, messages, isFull: wanted.length > limit || page.length === EVENTS }];
}

/** Those of one organization and mode that stand at the same event, together; never empty. */
function groupByStream(followers: readonly Follower[]): [Follower, ...Follower[]][] {
  const groups = new Map<string, [Follower, ...Follower[]]>();
  for (const follower of followers) {
    const stream = `${follower.organizationId} ${follower.mode} ${follower.position}`;
    const group = groups.get(stream);
    if (group) group.push(follower);
    else groups.set(stream, [follower]);
  }
  return [...groups.values()];
}
