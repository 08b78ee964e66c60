import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { Organization, type OrganizationStatus } from './organization.entity';

@Injectable()
export class OrganizationsRepository {
  constructor(@InjectRepository(Organization) private readonly organizations: Repository<Organization>) {}

  async insert(id: string, name: string): Promise<void> {
    await this.organizations.insert({ id, name });
  }

  find(id: string): Promise<Organization | null> {
    return this.organizations.findOneBy({ id });
  }

  findByOrdinal(ordinal: number): Promise<Organization | null> {
    return this.organizations.findOneBy({ ordinal });
  }

  list(): Promise<Organization[]> {
    return this.organizations.find({ order: { id: 'ASC' } });
  }

  count(): Promise<number> {
    return this.organizations.count();
  }

  /** False when there is no such organization. */
  async setStatus(id: string, status: OrganizationStatus, at: Date): Promise<boolean> {
    const result = await this.organizations.update({ id }, { status, updatedAt: at });
    return (result.affected ?? 0) > 0;
  }
}
