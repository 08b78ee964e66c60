import { Injectable } from '@nestjs/common';
import { NotFoundError } from '../common/errors/app-error';
import { OrganizationsService } from './organizations.service';

/** The short numbers that return paths carry; answers many at a time, from memory where it can. */
@Injectable()
export class OrganizationOrdinals {
  constructor(private readonly organizations: OrganizationsService) {}

  /** Unknown organizations are left out. */
  async ordinalsOf(organizationIds: readonly string[]): Promise<Map<string, number>> {
    const found = await Promise.all(organizationIds.map(async (id) => [id, await this.ordinalOf(id)] as const));
    return new Map(found.filter((entry): entry is readonly [string, number] => entry[1] !== undefined));
  }

  private async ordinalOf(id: string): Promise<number | undefined> {
    try {
      return (await this.organizations.settingsOf(id)).ordinal;
    } catch (error) {
      if (error instanceof NotFoundError) return undefined;
      throw error;
    }
  }
}
