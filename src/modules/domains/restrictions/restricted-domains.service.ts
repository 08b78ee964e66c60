import { Injectable } from '@nestjs/common';
import type { Domain } from '../domain.entity';
import { RestrictedDomainsRepository } from './restricted-domains.repository';

/** Which domains are slowed or paused, of every organization: for the operator. */
@Injectable()
export class RestrictedDomains {
  constructor(private readonly domains: RestrictedDomainsRepository) {}

  /** In key order, after the given one. */
  list(after: Domain | undefined, limit: number): Promise<Domain[]> {
    return this.domains.findRestricted(after, limit);
  }

  count(): Promise<{ slowed: number; paused: number }> {
    return this.domains.count();
  }
}
