import { Injectable } from '@nestjs/common';
import { Clock } from '../../common/clock';
import { RecipientLinksService, type RecipientLinkTarget } from '../emails/recipient-links.service';
import { type Hit, HitHistory, type HitKind } from './hit-history';
import { HitQueue } from './hit-queue.service';
import { recognizeAutomation, truncateAddress, type Visit } from './automation';
import { TrackingMetrics } from './hit-writer.service';

const MAX_AGENT_LENGTH = 256;
const NOT_PRINTABLE = /[^\x20-\x7e]/g;
/** The end of a token is its signature, which no other token has. */
const SIGNATURE_LENGTH = 22;
/** Even a signed token redirects to no script and no file. */
const WEB_ADDRESS = /^https?:\/\//i;

interface Followed {
  readonly token: string;
  readonly target: RecipientLinkTarget;
  readonly url?: string;
}

/** Works from the token alone, without a query; the hit is recorded later. */
@Injectable()
export class TrackingService {
  constructor(
    private readonly links: RecipientLinksService,
    private readonly history: HitHistory,
    private readonly queue: HitQueue,
    private readonly clock: Clock,
    private readonly metrics: TrackingMetrics,
  ) {}

  /** The pixel was loaded. False for a token that is not ours. */
  open(token: string, visit: Visit): boolean {
    const target = this.links.read('open', token);
    if (!target) this.metrics.count('opened', 'refused');
    else this.take('opened', { token, target }, visit);
    return target !== undefined;
  }

  /** The link's target, exactly as in the mail; undefined for a token that is not ours. */
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
