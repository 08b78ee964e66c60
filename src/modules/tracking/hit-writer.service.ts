import { Injectable } from '@nestjs/common';
import { SECOND } from '../../common/clock';
import { Metrics } from '../../common/metrics/metrics';
import { Database } from '../../database/pool/database.service';
import type { DeliveryOutcome, RecordedOutcome } from '../../delivery/ports/outcome';
import { EmailLookupService, type MailRecipient } from '../emails/email-lookup.service';
import { OutcomeRecorder } from '../emails/outcomes/outcome-recorder.service';
import { RecipientLinksService } from '../emails/recipient-links.service';
import type { Automation } from './automation';
import { type Hit, HitHistory, type HitKind, type HitResult } from './hit-history';

/** The result of a fetch of a pixel or a link, in the metrics. */
export type CountedResult = HitResult | 'repeated' | 'refused' | 'dropped';

const KINDS: readonly HitKind[] = ['opened', 'clicked'];
const RESULTS: readonly CountedResult[] = ['recorded', 'automated', 'gone', 'repeated', 'refused', 'dropped'];

/** Metrics of tracking: hits by kind and result, and waiting hits. */
@Injectable()
export class TrackingMetrics {
  private readonly hits;

  constructor(private readonly metrics: Metrics) {
    this.hits = metrics.counter({
      name: 'tracking_hits_total',
      help: 'Fetches of tracking pixels and links; gone: the email no longer exists; refused: the token is not valid; dropped: the queue was full or the database unavailable',
      labels: { kind: KINDS, result: RESULTS },
    });
  }

  count(kind: HitKind, result: CountedResult): void {
    this.hits.inc({ kind, result });
  }

  showWaiting(depth: () => number): void {
    this.metrics.gauge({ name: 'tracking_hits_waiting', help: 'Opens and clicks that are not written yet' }, () =>
      depth(),
    );
  }
}

/** Sooner after the delivery no person reacts; filters do, before they place the mail in the mailbox. */
const REACTION_MS: Record<HitKind, number> = { opened: 0, clicked: 2 * SECOND };

/** A hit whose recipient is known, and its result. */
interface ResolvedHit {
  readonly hit: Hit;
  readonly recipient: MailRecipient;
  readonly automation: Automation | undefined;
}

/** Converts hits to outcomes: one query for their recipients, one transaction. */
@Injectable()
export class HitWriter {
  constructor(
    private readonly links: RecipientLinksService,
    private readonly recipients: EmailLookupService,
    private readonly outcomes: OutcomeRecorder,
    private readonly database: Database,
    private readonly history: HitHistory,
  ) {}

  /** Resolves when committed, with one result for each hit. @throws UnavailableError */
  async write(hits: readonly Hit[]): Promise<HitResult[]> {
    const resolved = await this.resolve(hits);
    const outcomes = resolved.flatMap((entry) => (entry ? [outcomeOf(entry)] : []));
    await this.database.transaction((tx) => this.outcomes.record(outcomes, tx));
    return resolved.map((entry) => {
      if (!entry) return 'gone';
      if (entry.automation && !entry.hit.automation) this.history.remove(entry.hit);
      return entry.automation ? 'automated' : 'recorded';
    });
  }

  private async resolve(hits: readonly Hit[]): Promise<(ResolvedHit | undefined)[]> {
    const keys = await Promise.all(hits.map(({ target }) => this.links.keyOf(target)));
    const recipients = await this.recipients.findRecipients(keys);
    return hits.map((hit, index) => {
      const recipient = recipients[index];
      return recipient && { hit, recipient, automation: this.automationOf(hit, recipient) };
    });
  }

  private automationOf(hit: Hit, { sentAt }: MailRecipient): Automation | undefined {
    if (hit.automation || hit.isOnThisMachine) return hit.automation;
    if (this.history.isInBurst(hit)) return 'many-links';
    const isEarly = sentAt !== null && hit.occurredAt.getTime() < sentAt.getTime() + REACTION_MS[hit.kind];
    return isEarly ? 'at-delivery' : undefined;
  }
}

function outcomeOf({ hit, recipient, automation }: ResolvedHit): RecordedOutcome {
  const { organizationId, mode, emailId, position, domainId, address } = recipient;
  const { kind, occurredAt, userAgent, ip, url, proxy } = hit;
  const data = {
    ...(url !== undefined && { url }),
    ...(userAgent !== '' && { userAgent }),
    ...(ip !== undefined && { ip }),
    ...(proxy && { proxy }),
    ...(automation && { automatedReason: automation }),
  };
  const outcome: DeliveryOutcome = { kind, data, ...(automation && { automated: true }) };
  const key = { organizationId, mode, emailId, position };
  return { ...key, domainId, recipient: address, outcome, source: 'tracking', occurredAt };
}
