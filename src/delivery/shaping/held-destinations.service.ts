import { Injectable } from '@nestjs/common';
import { BriefCache } from '../../common/async/promises';
import { Clock, SECOND } from '../../common/clock';
import { acrossTenants } from '../../common/tenant';
import { AppConfig } from '../../config/config';
import { nextHopOf } from '../routing/create-router';
import { type Destination, DestinationsService, type ShownRule } from './destinations.service';

/** Workers exchange findings every two seconds: a newer read returns nothing new. */
const CACHE_MS = 2 * SECOND;

const HELD_STATES = ['paused', 'probing', 'slowed'] as const;

/** What holds back the mail for a destination. */
export interface HeldBack {
  readonly state: (typeof HELD_STATES)[number];
  readonly until?: Date;
  /** A reply, or an operator's words: for operators only, because a reply may name a recipient. */
  readonly cause?: string;
  /** Set when an operator holds it; `cause` is then the operator's text. */
  readonly operator?: Pick<ShownRule, 'since' | 'effect'>;
}

/** Destinations that get less mail than they could, or none, as all workers and operators share it. */
@Injectable()
export class HeldDestinations {
  private readonly lookup: BriefCache<HeldLookup>;

  constructor(destinations: DestinationsService, clock: Clock, { delivery }: AppConfig) {
    const hop = nextHopOf(delivery);
    const load = async () => new HeldLookup(await acrossTenants(() => destinations.listHeldBack()), hop);
    this.lookup = new BriefCache(load, CACHE_MS, clock);
  }

  /** At most a few seconds old. @throws UnavailableError */
  get(): Promise<HeldLookup> {
    return this.lookup.get();
  }
}

type Group = Pick<Destination, 'key' | 'mxHosts' | 'domains' | 'state' | 'until' | 'cause' | 'rules'>;

/** Finds what holds back a mail, by its destination. */
export class HeldLookup {
  readonly counts: Readonly<Record<HeldBack['state'], number>>;
  /** Of the groups that single destinations belong to: none where all mail goes by one hop, as all of it waits then. */
  readonly keys: readonly string[];
  private readonly byName = new Map<string, HeldBack>();

  /** @param groups none of them open @param hop the key of the group that all mail goes by, where there is one */
  constructor(
    groups: readonly Group[],
    private readonly hop?: string,
  ) {
    const counts = { paused: 0, probing: 0, slowed: 0 };
    for (const { key, mxHosts, domains, state, until, cause, rules } of groups) {
      if (state === 'open') continue;
      counts[state] += 1;
      const operator = operatorsRule(state, rules);
      const held = {
        state,
        ...(until && { until }),
        ...(cause !== undefined && { cause }),
        ...(operator && { operator }),
      };
      for (const name of [key, ...mxHosts, ...domains]) this.byName.set(name, held);
    }
    this.counts = counts;
    this.keys = hop === undefined ? groups.filter(({ state }) => state !== 'open').map(({ key }) => key) : [];
  }

  /**
   * @param domain the recipient's; of a very large group only some are stored
   * @param mxHost that of the last attempt, where there was one
   */
  of(domain: string, mxHost?: string): HeldBack | undefined {
    const known = (mxHost === undefined ? undefined : this.byName.get(mxHost)) ?? this.byName.get(domain);
    return known ?? (this.hop === undefined ? undefined : this.byName.get(this.hop));
  }
}

/** The rule of an operator that the state comes from. Operators' limits go before those of replies. */
function operatorsRule(state: HeldBack['state'], rules: readonly ShownRule[]): ShownRule | undefined {
  const isPause = state === 'paused';
  const found = rules.find(({ effect, source }) => source !== 'profile' && (effect === 'paused') === isPause);
  return state !== 'probing' && found?.source === 'operator' ? found : undefined;
}
