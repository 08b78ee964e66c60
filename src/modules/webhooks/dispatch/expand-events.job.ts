import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Clock, SECOND } from '../../../common/clock';
import { UnavailableError } from '../../../common/errors/app-error';
import { firstIdAt, timeOfId } from '../../../common/ids';
import { PeriodicJobs } from '../../../common/jobs/periodic-jobs';
import { EventsService } from '../../events/events.service';
import { RecentStreams } from '../../events/recent-streams.service';
import { DispatchMetrics } from './dispatch.metrics';
import { WebhookEndpointsRepository } from '../queue/webhook-endpoints.repository';
import { EVENTS, groupByStream, messagesOfEach, pagesOf, stepOf } from './follow-steps';
import { type EndpointKey, type Follower, MAX_PENDING } from '../queue/webhook-queue';

const EVERY_MS = SECOND / 2;
/** Runs that are skipped after one that found nothing. */
const IDLE_RUNS = 2;
/** Endpoints at a time, with `EVENTS` for each that differs in where it stands: what is in memory at once. */
const FOLLOWERS = 50;
/** Beyond the one for each: shared by endpoints that are behind, so that a long backlog does not delay the next pass. */
const MORE_PAGES = 20;
/**
 * Of a run, and more while that takes no longer than those with recent events did: for the walk over all endpoints. Without a bound, 20,000
 * without an event kept a CPU core busy without pause.
 */
const WALK_PAGES = 10;
const FIRST: EndpointKey = { organizationId: firstIdAt(new Date(0)), mode: 'live', endpointId: firstIdAt(new Date(0)) };

/**
 * Turns events into messages: follows the event log for each enabled endpoint, from its position on. Those of one organization
 * that stand at the same event read together. Where several processes do this, one of them moves an endpoint on.
 *
 * A run walks through all endpoints while there are few. Of more, it passes through those of organizations that had events lately, and walks
 * on a part of the way through all: what is idle costs a share of the time, however many there are, and not all of it.
 */
@Injectable()
export class ExpandEventsJob implements OnApplicationBootstrap {
  private runsToSkip = 0;
  /** The walk goes on after this one. */
  private walkedTo = FIRST;
  /** Whether the walk takes several runs. */
  private isLong = false;
  private onMessages: () => void = () => undefined;

  constructor(
    private readonly feed: EventsService,
    private readonly recent: RecentStreams,
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
    this.walkedTo = FIRST;
    return this.pass(Infinity);
  }

  /** As it happens every half second. @throws UnavailableError */
  async run(): Promise<void> {
    if (this.runsToSkip > 0) {
      this.runsToSkip -= 1;
      return;
    }
    const count = await this.pass(WALK_PAGES);
    if (count === 0 && this.walkedTo === FIRST) this.runsToSkip = IDLE_RUNS;
  }

  private async pass(walkPages: number): Promise<number> {
    const behind: Follower[] = [];
    const startedMs = this.clock.monotonicMs();
    let count = 0;
    // A walk of one run meets them.
    const recent = this.isLong ? this.recent.list() : [];
    for (const tenants of pagesOf(recent, FOLLOWERS)) {
      const theirs = await this.endpoints.followersOf(tenants, MAX_PENDING);
      for (const followers of pagesOf(theirs, FOLLOWERS)) {
        count += await this.followPage(followers, behind);
      }
    }
    const nowMs = this.clock.monotonicMs();
    count += await this.walk(walkPages, nowMs + (nowMs - startedMs), behind);
    count += await this.followOn(behind);
    return count;
  }

  /** So many pages, and more until that time; to the last endpoint at most. */
  private async walk(pages: number, untilMs: number, behind: Follower[]): Promise<number> {
    const isBegun = this.walkedTo !== FIRST;
    let [count, read] = [0, 0];
    do {
      const followers = await this.endpoints.followers(this.walkedTo, MAX_PENDING, FOLLOWERS);
      count += await this.followPage(followers, behind);
      this.walkedTo = (followers.length === FOLLOWERS && followers.at(-1)) || FIRST;
      read += 1;
    } while (this.walkedTo !== FIRST && (read < pages || this.clock.monotonicMs() < untilMs));
    const isEnded = this.walkedTo === FIRST;
    this.isLong = isBegun || !isEnded;
    if (isEnded) this.metrics.expanded();
    return count;
  }

  private async followPage(followers: readonly Follower[], behind: Follower[]): Promise<number> {
    const { events, left } = await this.followOrPassOver(followers);
    behind.push(...left.slice(0, MORE_PAGES * FOLLOWERS - behind.length));
    return events;
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
    if (followers.length === 0) return { events: 0, left: [] };
    const streams = groupByStream(followers);
    const after = streams.map(([{ organizationId, mode, position }]) => ({ organizationId, mode, after: position }));
    const head = await this.feed.head();
    const pages = await this.feed.readAfter(after, EVENTS, head);
    this.metrics.lagged([head, ...pages.flatMap(([first]) => (first ? [first.id] : []))].map(timeOfId));
    const limitOf = messagesOfEach(followers);
    const steps = streams.flatMap((members, index) =>
      members.flatMap((one) => stepOf(one, pages[index] ?? [], limitOf(one))),
    );
    if (steps.length === 0) return { events: 0, left: [] };
    this.recent.note(steps);
    const messages = steps.flatMap((step) => step.messages);
    await this.endpoints.advance(steps, messages, this.clock.now());
    if (messages.length > 0) this.onMessages();
    const left = steps.filter((step) => step.isFull).map(({ follower, next }) => ({ ...follower, position: next }));
    return { events: pages.reduce((sum, page) => sum + page.length, 0), left };
  }
}

interface Followed {
  /** How many were read. */
  readonly events: number;
  readonly left: readonly Follower[];
}
