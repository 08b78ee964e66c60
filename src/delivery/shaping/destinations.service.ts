import { isIP } from 'node:net';
import { Injectable } from '@nestjs/common';
import { Clock } from '../../common/clock';
import { AppConfig } from '../../config/config';
import { NotFoundError, ValidationError } from '../../common/errors/app-error';
import { newId } from '../../common/ids';
import { parseDomain } from '../../common/mail-domain';
import { Database } from '../../database/pool/database.service';
import type { Transaction } from '../../database/statements/transaction';
import type { RuleEffect, RuleSource } from './shaping.entity';
import { DestinationsRepository, type FoldedGroup, type ListedRule, type WantedRule } from './destinations.repository';
import { type ProviderProfile, profileOf } from '../ports/provider-profiles';
import { limitsOf } from './worker-share';

const DESTINATION_STATES = ['open', 'slowed', 'paused', 'probing'] as const;

export type GroupState = (typeof DESTINATION_STATES)[number];

/** A rule as operators see it. */
export interface ShownRule {
  /** A profile's begins with `profile:`, and cannot be removed. */
  readonly id: string;
  readonly source: RuleSource | 'profile';
  readonly effect: string;
  readonly cause: string;
  /** Absent for a profile's. */
  readonly since?: Date;
  readonly until?: Date;
}

/** A group of destinations as operators see it. */
export interface Destination {
  readonly key: string;
  readonly mxHosts: readonly string[];
  readonly domains: readonly string[];
  readonly state: GroupState;
  /** For all workers together; without a limit of its own, what they open to a host at most (`CONNECTIONS_PER_HOST` each). */
  readonly maxConnections: number;
  readonly active: number;
  readonly ratePerMinute?: number;
  readonly cause?: string;
  readonly until?: Date;
  readonly lastResponse?: string;
  readonly rules: readonly ShownRule[];
  readonly lastHour: Readonly<Record<'delivered' | 'deferred' | 'bounced', number>>;
}

/** An operator's change to a group; absent fields stay, null removes a limit. */
export interface DestinationChange {
  readonly paused?: boolean | undefined;
  readonly maxConnections?: number | null | undefined;
  readonly ratePerMinute?: number | null | undefined;
  /** When the pause, or the limits, end by themselves. */
  readonly until?: Date | undefined;
  /** The operator's own words. */
  readonly reason: string;
}

type Also = (tx: Transaction) => Promise<void>;

const MAX_GROUPS = 5_000;
const KEY = /^(?=.{1,254}$)@?[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?$/;
/** A signal to the workers, who check every two seconds. */
const RESUMED_FOR_MS = 60_000;
const EFFECT_WORDS: Readonly<Record<RuleEffect, string>> = {
  paused: 'paused',
  resumed: 'resumed',
  max_connections: 'max connections',
  rate_per_minute: 'messages a minute',
};

/** Groups of destinations as operators see and change them. Every worker applies a change within 5 s. */
@Injectable()
export class DestinationsService {
  constructor(
    private readonly destinations: DestinationsRepository,
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly config: AppConfig,
  ) {}

  /** All known groups, the busiest first; at most 5,000. */
  async list(): Promise<Destination[]> {
    const [groups, rules] = await Promise.all([
      this.destinations.fold(undefined, MAX_GROUPS),
      this.destinations.listRules(),
    ]);
    return this.describeAll(groups, rules);
  }

  /** @throws NotFoundError for an unknown group */
  async get(key: string): Promise<Destination> {
    const found = await this.find(key);
    if (!found) throw new NotFoundError('Destination');
    return found;
  }

  /** Groups that are not open, by an operator's rule or by findings of workers; at most 5,000. */
  async listHeldBack(): Promise<Destination[]> {
    const rules = await this.destinations.listRules();
    const groups = await this.destinations.foldHeldBack([...byGroup(rules).keys()], MAX_GROUPS);
    return this.describeAll(groups, rules).filter(({ state }) => state !== 'open');
  }

  /**
   * Applies all of a change or nothing; the group may be new.
   * @param also in the same transaction
   * @throws ValidationError for a key that is no host name, a moment that is over, or nothing to change
   */
  async change(givenKey: string, change: DestinationChange, also: Also): Promise<Destination> {
    const key = readKey(givenKey);
    if (change.until && change.until <= this.clock.now()) {
      throw new ValidationError({ until: ['until must be in the future'] });
    }
    const ended = endedBy(change);
    if (ended.length === 0) {
      throw new ValidationError({ body: ['body must hold paused, maxConnections or ratePerMinute'] });
    }
    const wanted = rulesOf(key, change);
    await this.database.transaction(async (tx) => {
      await this.destinations.removeEffects(key, ended, tx);
      await this.destinations.writeRules(wanted, tx);
      await also(tx);
    });
    return this.findOrEmpty(key);
  }

  /** Returns the group without the rule. @throws NotFoundError */
  async removeRule(key: string, id: string, also: Also): Promise<Destination> {
    await this.database.transaction(async (tx) => {
      if (!(await this.destinations.removeRule(key, id, tx))) throw new NotFoundError('Rule');
      await also(tx);
    });
    return this.findOrEmpty(key);
  }

  /** And the groups that rules are about. */
  private describeAll(groups: readonly FoldedGroup[], rules: readonly ListedRule[]): Destination[] {
    const rulesOf = byGroup(rules);
    const shown = new Map(groups.map((group) => [group.key, group]));
    for (const key of rulesOf.keys()) if (!shown.has(key)) shown.set(key, unknownGroup(key));
    return [...shown.values()].map((group) => this.describe(group, rulesOf.get(group.key) ?? []));
  }

  private async findOrEmpty(key: string): Promise<Destination> {
    return (await this.find(key)) ?? this.describe(unknownGroup(key), []);
  }

  /** Returns undefined for an unknown group. */
  private async find(key: string): Promise<Destination | undefined> {
    const [[group], all] = await Promise.all([this.destinations.fold(key, 1), this.destinations.listRules()]);
    const rules = byGroup(all).get(key) ?? [];
    const known = group ?? (rules.length > 0 ? unknownGroup(key) : undefined);
    return known && this.describe(known, rules);
  }

  /** @param rules of the group */
  private describe(group: FoldedGroup, rules: readonly ListedRule[]): Destination {
    const mostOfAll = this.config.delivery.connectionsPerHost * Math.max(group.workers, 1);
    const { maxConnections = mostOfAll, ratePerMinute } = limitsOf(group.key, rules);
    const { state, rule, cause, until } = this.stateOf(group, rules);
    const { key, mxHosts, domains, active, delivered, deferred, bounced, lastResponse } = group;
    return {
      ...{ key, mxHosts, domains, state, maxConnections, active },
      ...(ratePerMinute !== undefined && { ratePerMinute }),
      ...(state !== 'open' && { cause: rule?.cause ?? cause }),
      ...(until && { until }),
      ...(lastResponse !== null && { lastResponse }),
      rules: [...rules.map(toShown), ...profileRules(profileOf(key))],
      lastHour: { delivered, deferred, bounced },
    };
  }

  private stateOf(
    { pauses, pausedUntil, cause }: FoldedGroup,
    rules: readonly ListedRule[],
  ): { state: GroupState; rule?: ListedRule | undefined; cause?: string; until?: Date | undefined } {
    const paused = rules.find(({ effect }) => effect === 'paused');
    if (paused) return { state: 'paused', rule: paused, until: paused.until ?? undefined };
    const met = { ...(cause !== null && { cause }) };
    if (pausedUntil && pausedUntil > this.clock.now()) return { state: 'paused', ...met, until: pausedUntil };
    if (pauses > 0) return { state: 'probing', ...met };
    const limited = rules.find(({ effect }) => effect === 'max_connections' || effect === 'rate_per_minute');
    if (limited) return { state: 'slowed', rule: limited, until: limited.until ?? undefined };
    return cause === null ? { state: 'open' } : { state: 'slowed', ...met };
  }
}

/** The rules of each group, without signals to workers. There may be thousands of both: many groups get one in an hour. */
function byGroup(rules: readonly ListedRule[]): ReadonlyMap<string, ListedRule[]> {
  const found = new Map<string, ListedRule[]>();
  for (const rule of rules) {
    if (rule.effect === 'resumed') continue;
    const own = found.get(rule.key);
    if (own) own.push(rule);
    else found.set(rule.key, [rule]);
  }
  return found;
}

/**
 * As groups are called: a name of the DNS, where exchangers may have an underscore; `@` and a domain; or the next hop of `RELAY_URL`,
 * which may be a single label (a container) or an address. @throws ValidationError
 */
function readKey(text: string): string {
  const parsed = parseDomain(text);
  if (parsed.ok) return parsed.domain;
  const key = text.toLowerCase();
  if (isIP(key) === 0 && !KEY.test(key)) {
    throw new ValidationError({ key: ['key must be the name or the address of a mail exchanger, or @ and a domain'] });
  }
  return key;
}

function rulesOf(
  key: string,
  { paused, maxConnections, ratePerMinute, until, reason }: DestinationChange,
): WantedRule[] {
  const common = { key, source: 'operator' as const, cause: reason, until: until ?? null };
  const rules: WantedRule[] = [];
  if (paused === true) rules.push({ ...common, id: newId(), effect: 'paused', value: null });
  if (paused === false) {
    rules.push({ ...common, id: newId(), effect: 'resumed', value: null, until: null, forMs: RESUMED_FOR_MS });
  }
  if (typeof maxConnections === 'number') {
    rules.push({ ...common, id: newId(), effect: 'max_connections', value: maxConnections });
  }
  if (typeof ratePerMinute === 'number') {
    rules.push({ ...common, id: newId(), effect: 'rate_per_minute', value: ratePerMinute });
  }
  return rules;
}

/** Rules that a change ends; a rewritten rule has another id. */
function endedBy({ paused, maxConnections, ratePerMinute }: DestinationChange): RuleEffect[] {
  return [
    ...(paused !== undefined ? (['paused', 'resumed'] as const) : []),
    ...(maxConnections !== undefined ? (['max_connections'] as const) : []),
    ...(ratePerMinute !== undefined ? (['rate_per_minute'] as const) : []),
  ];
}

function toShown({ id, source, effect, value, cause, until, since }: ListedRule): ShownRule {
  const words = value === null ? EFFECT_WORDS[effect] : `${value} ${EFFECT_WORDS[effect]}`;
  return { id, source, effect: words, cause, since, ...(until && { until }) };
}

function profileRules(profile: ProviderProfile | undefined): ShownRule[] {
  if (!profile) return [];
  const { id, maxConnections, messagesPerConnection, source } = profile;
  const rule = (name: string, effect: string): ShownRule => ({
    ...{ id: `profile:${id}:${name}`, source: 'profile', effect, cause: source },
  });
  return [
    ...(maxConnections !== undefined ? [rule('connections', `${maxConnections} max connections`)] : []),
    ...(messagesPerConnection !== undefined
      ? [rule('messages', `${messagesPerConnection} messages per connection`)]
      : []),
  ];
}

/** A group that no worker has used within the last hour. */
function unknownGroup(key: string): FoldedGroup {
  return {
    ...{ key, mxHosts: [], domains: [], active: 0, delivered: 0, deferred: 0, bounced: 0 },
    ...{ workers: 0, pauses: 0, pausedUntil: null, cause: null, lastResponse: null },
  };
}
