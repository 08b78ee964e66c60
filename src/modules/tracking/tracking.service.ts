import { Injectable } from '@nestjs/common';
import { Clock } from '../../common/clock';
import { RecipientLinksService, type RecipientLinkTarget } from '../emails/recipient-links.service';
import { type Hit, HitHistory, type HitKind } from './hit-history';
import { HitQueue } from './hit-queue.service';
import { recognizeAutomation, truncateAddress, type Visit } from './automation';
import { TrackingMetrics } from './hit-writer.service';

const MAX_AGENT_LENGTH = 256;
const NOT_PRINTABLE = /[^\x20-\x7e]/g;
/** A token ends with its signature, which is unique. */
const SIGNATURE_LENGTH = 22;
/** Even a signed token must not redirect to `javascript:` or `file:`. */
const WEB_ADDRESS = /^https?:\/\//i;

interface Followed {
  readonly token: string;
  readonly target: RecipientLinkTarget;
  readonly url?: string;
}

/** Handles opens and clicks from the token alone, without a query; the hit is recorded later. */
@Injectable()
export class TrackingService {
  constructor(
    private readonly links: RecipientLinksService,
    private readonly history: HitHistory,
    private readonly queue: HitQueue,
    private readonly clock: Clock,
    private readonly metrics: TrackingMetrics,
  ) {}

  /** Records that the pixel was loaded. Returns false for an invalid token. */
  open(token: string, visit: Visit): boolean {
    const target = this.links.read('open', token);
    if (!target) this.metrics.count('opened', 'refused');
    else this.take('opened', { token, target }, visit);
    return target !== undefined;
  }

  /** Records a click and returns the link's target, exactly as in the mail; undefined for an invalid token. */
  click(token: string, visit: Visit): string | undefined {
    const { url, ...target } = this.links.read('click', token) ?? {};
    if (url === undefined || !WEB_ADDRESS.test(url)) {
      this.metrics.count('clicked', 'refused');
      return undefined;
    }
    this.take('clicked', { token, target: target as RecipientLinkTarget, url }, visit);
    return url;
  }

  private take(kind: HitKind, { token, target, url }: Followed, visit: Visit): void {
    const recognition = recognizeAutomation(visit);
    const linkKey = token.slice(-SIGNATURE_LENGTH);
    if (this.history.isRepeated(linkKey, recognition.automation !== undefined)) {
      this.metrics.count(kind, 'repeated');
      return;
    }
    const hit: Hit = {
      kind,
      target,
      linkKey,
      ...recognition,
      occurredAt: this.clock.now(),
      atMs: this.clock.monotonicMs(),
      userAgent: visit.userAgent.slice(0, MAX_AGENT_LENGTH).replace(NOT_PRINTABLE, '?'),
      isOnThisMachine: visit.isOnThisMachine,
      ip: truncateAddress(visit.address),
      ...(url !== undefined && { url }),
    };
    if (kind === 'clicked' && !recognition.automation) this.history.note(hit);
    this.queue.add(hit);
  }
}
