import { Injectable } from '@nestjs/common';
import { Clock } from '../../common/clock';
import { NotFoundError } from '../../common/errors/app-error';
import { Database } from '../../database/database.service';
import { AuditService } from '../../audit/audit.service';
import type { Domain } from './domain.entity';
import { domainEvent } from './domain-event';
import { type DomainChange, DomainTransitionsRepository, type ExpectedState } from './domain-transitions.repository';

/** Moves domains from state to state: of several processes that want to, one does, and writes it down. */
@Injectable()
export class DomainTransitions {
  constructor(
    private readonly domains: DomainTransitionsRepository,
    private readonly database: Database,
    private readonly audit: AuditService,
    private readonly clock: Clock,
  ) {}

  /** Of any organization: for the operator. @throws NotFoundError */
  async find(id: string): Promise<Domain> {
    const domain = await this.domains.findAnywhere(id);
    if (!domain) throw new NotFoundError('Domain');
    return domain;
  }

  /** Answers false when another process was first. @param entry without one nothing is written down */
  move(
    domain: Domain,
    expected: ExpectedState,
    change: DomainChange,
    entry?: { readonly actor: string; readonly action: string; readonly data?: object },
  ): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      const isOurs = await this.domains.change(domain, expected, { ...change, updatedAt: this.clock.now() }, tx);
      if (isOurs && entry) await this.audit.record([domainEvent(entry.action, domain, entry.actor, entry.data)], tx);
      return isOurs;
    });
  }
}
