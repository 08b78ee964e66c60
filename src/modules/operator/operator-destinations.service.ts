import { domainToUnicode } from 'node:url';
import { Injectable } from '@nestjs/common';
import { parseDomain } from '../../common/mail-domain';
import { AuditService, INSTALLATION } from '../../audit/audit.service';
import type { Transaction } from '../../database/statements/transaction';
import { EgressService, type ShownAddress } from '../../delivery/egress/egress.service';
import {
  type Destination,
  type DestinationChange,
  DestinationsService,
} from '../../delivery/shaping/destinations.service';

export interface DestinationFilter {
  readonly text?: string | undefined;
  readonly state?: Destination['state'] | undefined;
}

/** Groups of destinations for operators: lists and audited changes. */
@Injectable()
export class OperatorDestinationsService {
  constructor(
    private readonly destinations: DestinationsService,
    private readonly audit: AuditService,
  ) {}

  /** The busiest first, with the number of matches. */
  async page({ text, state }: DestinationFilter, { skip, take }: { skip: number; take: number }) {
    const wanted = text?.toLowerCase().normalize('NFC');
    const found = (await this.destinations.list()).filter(
      (one) => (state === undefined || one.state === state) && (wanted === undefined || isNamed(one, wanted)),
    );
    return [found.slice(skip, skip + take), found.length] as const;
  }

  /** @throws NotFoundError */
  get(key: string): Promise<Destination> {
    return this.destinations.get(nameOf(key));
  }

  change(key: string, change: DestinationChange, actor: string): Promise<Destination> {
    const { paused, maxConnections, ratePerMinute, until } = change;
    const data = { paused, maxConnections, ratePerMinute, until };
    return this.destinations.change(key, change, (tx) => this.record(key, 'destination.changed', { actor, data }, tx));
  }

  /** Returns the group without the rule. @throws NotFoundError */
  removeRule(key: string, id: string, actor: string): Promise<Destination> {
    const name = nameOf(key);
    const data = { rule: id };
    return this.destinations.removeRule(name, id, (tx) =>
      this.record(name, 'destination.rule_removed', { actor, data }, tx),
    );
  }

  private record(
    key: string,
    action: string,
    decision: { actor: string; data: object },
    tx: Transaction,
  ): Promise<void> {
    const target = { targetType: 'destination', targetId: nameOf(key) };
    return this.audit.record([{ organizationId: INSTALLATION, action, ...decision, ...target }], tx);
  }
}

/** The key of a group, however its host or domain is written. */
function nameOf(key: string): string {
  const parsed = parseDomain(key);
  return parsed.ok ? parsed.domain : key.toLowerCase();
}

/** @param text a part of a name, in either spelling of an international one */
function isNamed({ key, mxHosts, domains }: Destination, text: string): boolean {
  return [key, ...mxHosts, ...domains].some((name) => name.includes(text) || domainToUnicode(name).includes(text));
}

/** Source addresses for operators: audited changes of warm-up and suspensions. */
@Injectable()
export class OperatorEgressService {
  constructor(
    private readonly egress: EgressService,
    private readonly audit: AuditService,
  ) {}

  list() {
    return this.egress.list();
  }

  /** @throws NotFoundError */
  changeWarmUp(address: string, change: 'skip' | 'restart', actor: string): Promise<ShownAddress> {
    const name = address.toLowerCase();
    return this.egress.changeWarmUp(name, change === 'skip', (tx) =>
      this.record(name, `egress.warm_up_${change === 'skip' ? 'skipped' : 'restarted'}`, { actor, data: {} }, tx),
    );
  }

  /** Ends suspensions; returns the receivers. @param key one receiver; undefined: all. @throws NotFoundError */
  release(address: string, key: string | undefined, actor: string): Promise<string[]> {
    const name = address.toLowerCase();
    return this.egress.release(name, key, (destinations, tx) =>
      this.record(name, 'egress.released', { actor, data: { destinations } }, tx),
    );
  }

  private record(
    address: string,
    action: string,
    decision: { actor: string; data: object },
    tx: Transaction,
  ): Promise<void> {
    const target = { targetType: 'egress_address', targetId: address };
    return this.audit.record([{ organizationId: INSTALLATION, action, ...decision, ...target }], tx);
  }
}
