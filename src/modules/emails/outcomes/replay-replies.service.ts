import { Injectable } from '@nestjs/common';
import { OrganizationsService } from '../../../auth/organizations/organizations.service';
import { Clock, DAY } from '../../../common/clock';
import { firstIdAt } from '../../../common/ids';
import type { Tenant } from '../../../common/tenant';
import { BUILT_IN_CLASSIFIER, type ReplyClassifier } from '../../../delivery/policy/replies/classify-reply';
import { readPhase } from '../../events/event-rows';
import { OutcomesRepository } from './outcomes.repository';
import type { StoredReply } from './sql/stored-events.sql';

type Ending = 'suppressions' | 'bounces' | 'retries';
type Difference = Record<Ending, { added: number; removed: number }>;

/** Replies that would match another rule, or the same rule with another action. */
export interface ReplayChange {
  readonly from: { readonly rule: string; readonly action: string };
  readonly to: { readonly rule: string; readonly action: string };
  readonly count: number;
}

export interface Replay {
  /** Number of examined refusals. */
  readonly replies: number;
  readonly changed: number;
  readonly difference: Difference;
  /** The most frequent first. */
  readonly changes: readonly ReplayChange[];
}

/** Events that one statement reads. */
const PAGE = 5_000;

/** Applies rules to the refusals of the last days, and returns what they would have changed. Reads only. */
@Injectable()
export class ReplayRepliesService {
  constructor(
    private readonly organizations: OrganizationsService,
    private readonly outcomes: OutcomesRepository,
    private readonly clock: Clock,
  ) {}

  async replay(days: number, classifier: ReplyClassifier): Promise<Replay> {
    const since = firstIdAt(new Date(this.clock.now().getTime() - days * DAY));
    const tally = new Tally(classifier);
    for (const { id: organizationId } of await this.organizations.list()) {
      await this.replayOf({ organizationId, mode: 'live' }, since, tally);
    }
    return tally.result();
  }

  private async replayOf(tenant: Tenant, since: string, tally: Tally): Promise<void> {
    let after = since;
    for (;;) {
      const page = await this.outcomes.listReplies(tenant, after, PAGE);
      for (const reply of page) tally.add(reply);
      const last = page.at(-1);
      if (!last || page.length < PAGE) return;
      after = last.id;
    }
  }
}

class Tally {
  private replies = 0;
  private changed = 0;
  private readonly counts = new Map<string, ReplayChange>();
  private readonly difference: Difference = {
    suppressions: { added: 0, removed: 0 },
    bounces: { added: 0, removed: 0 },
    retries: { added: 0, removed: 0 },
  };

  constructor(private readonly classifier: ReplyClassifier) {}

  add(stored: StoredReply): void {
    if (stored.code === null) return;
    this.replies += 1;
    const found = classify(this.classifier, stored);
    const before = stored.action ?? classify(BUILT_IN_CLASSIFIER, stored).action;
    const [from, to] = [
      { rule: stored.ruleId ?? '', action: before },
      { rule: found.ruleId, action: found.action },
    ];
    if (from.rule === to.rule && from.action === to.action) return;
    this.changed += 1;
    const name = JSON.stringify([from, to]);
    this.counts.set(name, { from, to, count: (this.counts.get(name)?.count ?? 0) + 1 });
    const [was, is] = [endingOf(from.action), endingOf(to.action)];
    if (was === is) return;
    this.difference[was].removed += 1;
    this.difference[is].added += 1;
  }

  result(): Replay {
    const changes = [...this.counts.values()].sort((one, other) => other.count - one.count);
    return { replies: this.replies, changed: this.changed, difference: this.difference, changes };
  }
}

function classify(classifier: ReplyClassifier, { code, enhancedCode, phase, lines, response }: StoredReply) {
  return classifier.classify({
    phase: readPhase(phase),
    code: code ?? undefined,
    enhancedCode: enhancedCode ?? undefined,
    text: lines ?? response ?? undefined,
  });
}

function endingOf(action: string): Ending {
  if (action === 'bounce_and_suppress') return 'suppressions';
  return action === 'bounce' ? 'bounces' : 'retries';
}
