import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Clock, SECOND } from '../common/clock';
import { AppError, NotFoundError } from '../common/errors/app-error';
import { isUuid, newId } from '../common/ids';
import { SingleFlight } from '../common/single-flight';
import type { Organization, OrganizationStatus } from './organization.entity';
import { OrganizationsRepository } from './organizations.repository';

/** What other rooms go by on each mail. */
export interface OrganizationSettings {
  /** Short number for tokens. */
  readonly ordinal: number;
  readonly trackOpens: boolean;
  readonly trackClicks: boolean;
}

const SETTINGS_CACHE_MS = 5 * SECOND;
/** The column is a signed integer of 32 bits. */
const MAX_ORDINAL = 2 ** 31 - 1;

@Injectable()
export class OrganizationsService {
  private readonly settings = new LRUCache<string, OrganizationSettings>({ max: 10_000, ttl: SETTINGS_CACHE_MS });
  private readonly lookUps = new SingleFlight<OrganizationSettings>();

  constructor(
    private readonly organizations: OrganizationsRepository,
    private readonly clock: Clock,
  ) {}

  /** @throws AppError invalid_request for an empty or too long name. */
  async create(name: string): Promise<{ id: string; name: string }> {
    const trimmed = name.trim();
    if (trimmed.length === 0 || trimmed.length > 200) {
      throw new AppError('invalid_request', 'An organization needs a name of 1 to 200 characters');
    }
    const id = newId();
    await this.organizations.insert(id, trimmed);
    return { id, name: trimmed };
  }

  list(): Promise<Organization[]> {
    return this.organizations.list();
  }

  async isEmpty(): Promise<boolean> {
    return (await this.organizations.count()) === 0;
  }

  /** @throws NotFoundError for an unknown id. */
  async get(id: string): Promise<Organization> {
    const organization = isUuid(id) ? await this.organizations.find(id) : null;
    if (!organization) throw new NotFoundError('Organization');
    return organization;
  }

  /** The id of the organization with this number; undefined when there is none. */
  async findByOrdinal(ordinal: number): Promise<string | undefined> {
    if (!Number.isInteger(ordinal) || ordinal < 1 || ordinal > MAX_ORDINAL) return undefined;
    return (await this.organizations.findByOrdinal(ordinal))?.id;
  }

  /** Answers from memory for a few seconds. @throws NotFoundError for an unknown id. */
  async settingsOf(id: string): Promise<OrganizationSettings> {
    return this.settings.get(id) ?? this.lookUps.run(id, () => this.lookUpSettings(id));
  }

  /** @throws NotFoundError for an unknown id. */
  async setStatus(id: string, status: OrganizationStatus): Promise<void> {
    if (!isUuid(id) || !(await this.organizations.setStatus(id, status, this.clock.now()))) {
      throw new NotFoundError('Organization');
    }
  }

  private async lookUpSettings(id: string): Promise<OrganizationSettings> {
    const { ordinal, trackOpens, trackClicks } = await this.get(id);
    const settings = { ordinal, trackOpens, trackClicks };
    this.settings.set(id, settings);
    return settings;
  }
}
