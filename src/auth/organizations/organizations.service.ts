import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { atMost } from '../../common/bounded-cache';
import { Clock, SECOND } from '../../common/clock';
import { AppError, NotFoundError } from '../../common/errors/app-error';
import { isUuid, newId } from '../../common/ids';
import { withinTenants } from '../../common/tenant';
import { BriefCache, SingleFlight } from '../../common/async/promises';
import { Database } from '../../database/pool/database.service';
import type { Transaction } from '../../database/statements/transaction';
import { type AuditRecord, AuditService, OPERATOR } from '../../audit/audit.service';
import type { Organization, OrganizationStatus } from './organization.entity';
import { type OrganizationFilter, OrganizationsRepository } from './organizations.repository';

/** Whether opens and clicks are tracked in mail that does not say so itself. */
export interface TrackingSettings {
  readonly trackOpens: boolean;
  readonly trackClicks: boolean;
}

/** Settings that every email of the organization depends on. */
export interface OrganizationSettings extends TrackingSettings {
  /** Short number of the organization, used in tokens and return paths. */
  readonly ordinal: number;
  /** How many recipients its live mail may have in a month (UTC); null: unlimited. */
  readonly monthlyRecipients: number | null;
}

/** What an operator may change; what is absent stays as it is. */
export interface OrganizationChange {
  readonly name?: string | undefined;
  readonly status?: OrganizationStatus | undefined;
  readonly weight?: number | undefined;
  readonly monthlyRecipients?: number | null | undefined;
}

/** One part of a change: its action in the audit log, and the columns that change. */
type ChangePart = readonly [action: string, changes: Partial<Organization>];

const STATUS_ACTIONS = { active: 'organization.resumed', suspended: 'organization.suspended' } as const;
/** A change is to be applied within 5 s. */
const SETTINGS_CACHE_MS = 3 * SECOND;
const WEIGHTS_CACHE_MS = 3 * SECOND;
const MAX_WEIGHT = 100;
/** The column is a signed integer of 32 bits. */
const MAX_ORDINAL = 2 ** 31 - 1;

/** Organizations, their settings and their short numbers; every change is recorded in the audit log. */
@Injectable()
export class OrganizationsService {
  private readonly settings = new LRUCache<string, OrganizationSettings>({ ...atMost(10_000), ttl: SETTINGS_CACHE_MS });
  private readonly lookUps = new SingleFlight<OrganizationSettings>();
  /** Organization ids by number: entries never change, since a number is assigned once. */
  private readonly ids = new LRUCache<number, string>(atMost(10_000));
  private readonly idLookUps = new SingleFlight<string | undefined>();
  private readonly weighted: BriefCache<ReadonlyMap<string, number>>;

  constructor(
    private readonly organizations: OrganizationsRepository,
    private readonly audit: AuditService,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {
    this.weighted = new BriefCache(() => this.lookUpWeights(), WEIGHTS_CACHE_MS, clock);
  }

  /** @throws AppError invalid_request for an empty or too long name. */
  async create(name: string, actor: string = OPERATOR): Promise<{ id: string; name: string }> {
    const trimmed = checkedName(name);
    const id = newId();
    await this.database.transaction(async (tx) => {
      await this.organizations.insert(id, trimmed, tx);
      await this.audit.record([organizationEvent('organization.created', id, actor)], tx);
    });
    return { id, name: trimmed };
  }

  /** The id that follows in the order of ids; undefined after the last one. */
  async idAfter(id: string, tx: Transaction): Promise<string | undefined> {
    return (await this.organizations.findAfter(id, tx))?.id;
  }

  list(): Promise<Organization[]> {
    return this.organizations.list();
  }

  /** Newest first, with the total number of matches. */
  page(filter: OrganizationFilter, page: { skip: number; take: number }): Promise<[Organization[], number]> {
    return this.organizations.page(filter, page);
  }

  /** Names by id; unknown organizations are left out. */
  async namesOf(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    return new Map((await this.organizations.findNames(ids)).map(({ id, name }) => [id, name]));
  }

  count(): Promise<number> {
    return this.organizations.count();
  }

  /** @throws NotFoundError for an unknown id. */
  async get(id: string): Promise<Organization> {
    const organization = isUuid(id) ? await this.organizations.find(id) : null;
    if (!organization) throw new NotFoundError('Organization');
    return organization;
  }

  /** The id of the organization with this number, from a cache where possible; undefined when there is none. */
  async findByOrdinal(ordinal: number): Promise<string | undefined> {
    if (!Number.isInteger(ordinal) || ordinal < 1 || ordinal > MAX_ORDINAL) return undefined;
    return this.ids.get(ordinal) ?? this.idLookUps.run(String(ordinal), () => this.lookUpId(ordinal));
  }

  /** The short numbers that return paths carry, by id, from a cache where possible. Unknown organizations are left out. */
  async ordinalsOf(organizationIds: readonly string[]): Promise<Map<string, number>> {
    const found = await Promise.all(organizationIds.map(async (id) => [id, await this.ordinalOf(id)] as const));
    return new Map(found.filter((entry): entry is readonly [string, number] => entry[1] !== undefined));
  }

  /** Cached for a few seconds. @throws NotFoundError for an unknown id. */
  async settingsOf(id: string): Promise<OrganizationSettings> {
    return this.settings.get(id) ?? this.lookUps.run(id, () => this.lookUpSettings(id));
  }

  /** @throws NotFoundError for an unknown id. */
  async setStatus(id: string, status: OrganizationStatus): Promise<void> {
    await this.change(id, [[STATUS_ACTIONS[status], { status }]]);
  }

  /** Applies to mail accepted from now on; other processes follow within seconds. @throws NotFoundError for an unknown id. */
  async setTracking(id: string, changes: Partial<TrackingSettings>): Promise<void> {
    await this.change(id, [['organization.tracking_changed', changes]]);
  }

  /** The weights other than 1, by organization id, cached for a few seconds. @throws UnavailableError */
  weights(): Promise<ReadonlyMap<string, number>> {
    return this.weighted.get();
  }

  /**
   * Sets its share of the deliveries relative to other organizations with ready mail; every worker applies it within 5 s.
   * @throws NotFoundError for an unknown id, AppError invalid_request for anything but 1 to 100
   */
  async setWeight(id: string, weight: number): Promise<void> {
    await this.change(id, [weightChange(weight)]);
  }

  /**
   * Applies all of a change or none of it; every process uses it within 5 s.
   * @throws NotFoundError for an unknown id, AppError invalid_request
   */
  async update(
    id: string,
    { name, status, weight, monthlyRecipients }: OrganizationChange,
    actor: string,
  ): Promise<void> {
    const parts: ChangePart[] = [];
    if (name !== undefined) parts.push(['organization.renamed', { name: checkedName(name) }]);
    if (status !== undefined) parts.push([STATUS_ACTIONS[status], { status }]);
    if (weight !== undefined) parts.push(weightChange(weight));
    if (monthlyRecipients !== undefined) parts.push(['organization.limit_changed', { monthlyRecipients }]);
    await this.change(id, parts, actor);
  }

  /** Writes and audits the parts that differ from what is stored. @throws NotFoundError */
  private async change(id: string, parts: readonly ChangePart[], actor: string = OPERATOR): Promise<void> {
    if (!isUuid(id)) throw new NotFoundError('Organization');
    await this.database.transaction(async (tx) => {
      const before = await this.organizations.lock(id, tx);
      if (!before) throw new NotFoundError('Organization');
      const real = parts.filter(([, changes]) => !isDeepStrictEqual({ ...before, ...changes }, { ...before }));
      if (real.length === 0) return;
      const merged = Object.assign({}, ...real.map(([, changes]) => changes)) as ChangePart[1];
      await this.organizations.change(id, merged, this.clock.now(), tx);
      // A name may be a person's.
      const dataOf = (changes: ChangePart[1]) => (changes.name === undefined ? changes : {});
      const events = real.map(([action, changes]) => organizationEvent(action, id, actor, dataOf(changes)));
      await this.audit.record(events, tx);
    });
    this.settings.delete(id);
  }

  private async lookUpWeights(): Promise<ReadonlyMap<string, number>> {
    return new Map((await this.organizations.findWeighted()).map(({ id, weight }) => [id, weight]));
  }

  private async ordinalOf(id: string): Promise<number | undefined> {
    try {
      return (await this.settingsOf(id)).ordinal;
    } catch (error) {
      if (error instanceof NotFoundError) return undefined;
      throw error;
    }
  }

  private async lookUpId(ordinal: number): Promise<string | undefined> {
    const id = (await this.organizations.findByOrdinal(ordinal))?.id;
    if (id !== undefined) this.ids.set(ordinal, id);
    return id;
  }

  private async lookUpSettings(id: string): Promise<OrganizationSettings> {
    const { ordinal, trackOpens, trackClicks, monthlyRecipients } = await withinTenants([id], () => this.get(id));
    const settings = { ordinal, trackOpens, trackClicks, monthlyRecipients };
    this.settings.set(id, settings);
    return settings;
  }
}

/** @throws AppError invalid_request */
function checkedName(name: string): string {
  const trimmed = name.trim();
  if (trimmed.length > 0 && trimmed.length <= 200) return trimmed;
  throw new AppError('invalid_request', 'An organization needs a name of 1 to 200 characters');
}

/** @throws AppError invalid_request */
function weightChange(weight: number): ChangePart {
  if (Number.isInteger(weight) && weight >= 1 && weight <= MAX_WEIGHT) {
    return ['organization.weight_changed', { weight }];
  }
  throw new AppError('invalid_request', `An organization's weight is a whole number from 1 to ${MAX_WEIGHT}`);
}

function organizationEvent(action: string, id: string, actor: string, data: object = {}): AuditRecord {
  return { organizationId: id, actor, action, targetType: 'organization', targetId: id, data };
}
