import { Injectable } from '@nestjs/common';
import { type OrganizationChange, OrganizationsService } from '../../auth/organizations.service';
import { StatsService } from '../stats/stats.service';

type Organization = Awaited<ReturnType<OrganizationsService['get']>>;

/** An organization with its number of recipients of live mail. */
export interface UsedOrganization extends Pick<
  Organization,
  'id' | 'name' | 'status' | 'weight' | 'monthlyRecipients' | 'createdAt'
> {
  /** On this UTC day and in this UTC month. */
  readonly usage: { readonly today: number; readonly month: number };
}

/** Organizations for operators: with their usage. */
@Injectable()
export class OperatorOrganizationsService {
  constructor(
    private readonly organizations: OrganizationsService,
    private readonly stats: StatsService,
  ) {}

  /** Newest first, with the number of matches. */
  async page(...args: Parameters<OrganizationsService['page']>): Promise<[UsedOrganization[], number]> {
    const [found, total] = await this.organizations.page(...args);
    return [await this.withUsage(found), total];
  }

  /** @throws NotFoundError */
  async get(id: string): Promise<UsedOrganization> {
    const [organization] = await this.withUsage([await this.organizations.get(id)]);
    return organization as UsedOrganization;
  }

  /** @throws AppError invalid_request */
  async create(name: string, actor: string): Promise<UsedOrganization> {
    return this.get((await this.organizations.create(name, actor)).id);
  }

  /** @throws NotFoundError, AppError invalid_request */
  async update(id: string, change: OrganizationChange, actor: string): Promise<UsedOrganization> {
    await this.organizations.update(id, change, actor);
    return this.get(id);
  }

  private async withUsage(organizations: readonly Organization[]): Promise<UsedOrganization[]> {
    const usages = await this.stats.usageOf(organizations.map(({ id }) => id));
    return organizations.map(({ id, name, status, weight, monthlyRecipients, createdAt }) => {
      const { today = 0, month = 0 } = usages.get(id) ?? {};
      return { id, name, status, weight, monthlyRecipients, createdAt, usage: { today, month } };
    });
  }
}
