import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { In, MoreThan, Not, type Repository } from 'typeorm';
import { addressKeys } from '../../../common/address-forms';
import type { NamedSlice } from '../../../common/ids';
import { Database } from '../../../database/pool/database.service';
import { lockList } from '../../../database/statements/locks.sql';
import type { Transaction } from '../../../database/statements/transaction';
import type { RouteMatch } from '../emails/inbound-email';
import { InboundUsage } from '../emails/inbound-email.entity';
import { InboundRoute } from './inbound-route.entity';
import type { RouteKeys } from './route-address';
import { findDomainsOf, findRoutes, findWebhooks, hasRoute, isHosted, isOwnEmail } from './sql/inbound-routes.sql';

/** Routes of inbound mail. All of it throws UnavailableError. */
@Injectable()
export class InboundRoutesRepository {
  constructor(
    @InjectRepository(InboundRoute) private readonly routes: Repository<InboundRoute>,
    private readonly database: Database,
  ) {}

  /** Of all organizations, for the listener. One of each organization. */
  match(recipient: RouteKeys): Promise<RouteMatch[]> {
    return this.database.run(findRoutes(recipient));
  }

  /** Whether one of these names is a verified domain of any organization: for the listener. */
  async isHosted(names: readonly string[]): Promise<boolean> {
    const [row] = await this.database.run(isHosted(names));
    return row?.isHosted ?? false;
  }

  /** Whether a host has a route of the organization whose verified domain it is in: for the listener. */
  async hasRoute({ host, names }: RouteKeys): Promise<boolean> {
    const [row] = await this.database.run(hasRoute(host, names));
    return row?.hasRoute ?? false;
  }

  async isOwnEmail(organizationId: string, id: string): Promise<boolean> {
    return (await this.database.run(isOwnEmail(organizationId, id))).length > 0;
  }

  /** The id of the organization's verified domain at each host, or the nearest one above it. */
  async domainsOf(organizationId: string, hosts: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const found = await this.database.run(findDomainsOf(organizationId, hosts));
    return new Map(found.map(({ host, domainId }) => [host, domainId]));
  }

  /** Those of these webhooks that are live ones of the organization. */
  async webhooksAmong(organizationId: string, ids: readonly string[]): Promise<ReadonlySet<string>> {
    if (ids.length === 0) return new Set();
    return new Set((await this.database.run(findWebhooks(organizationId, ids))).map(({ id }) => id));
  }

  /** By address; also how many there are in all. */
  async page(organizationId: string, { after, skip, take }: NamedSlice): Promise<[InboundRoute[], number]> {
    const order = { address: 'ASC' } as const;
    const where = { organizationId };
    if (after === undefined) return this.routes.findAndCount({ where, order, skip, take });
    const found = await this.routes.find({ where: { ...where, address: MoreThan(after) }, order, skip, take });
    return [found, await this.routes.countBy(where)];
  }

  find(organizationId: string, id: string): Promise<InboundRoute | null> {
    return this.routes.findOneBy({ organizationId, id });
  }

  usage(organizationId: string): Promise<InboundUsage | null> {
    return this.routes.manager.findOneBy(InboundUsage, { organizationId });
  }

  /** Further additions and changes of addresses wait until the end of the transaction. */
  async lockList(organizationId: string, tx: Transaction): Promise<void> {
    await tx.run(lockList(`inbound routes of ${organizationId}`));
  }

  count(organizationId: string, tx: Transaction): Promise<number> {
    return tx.manager.countBy(InboundRoute, { organizationId });
  }

  /** Whether another route has the address, in any of its forms. */
  isTaken({ organizationId, id, address }: InboundRoute, tx: Transaction): Promise<boolean> {
    return tx.manager.existsBy(InboundRoute, { organizationId, address: In(addressKeys(address)), id: Not(id) });
  }

  /** Holds back other changes to it until the end of the transaction. */
  lock(organizationId: string, id: string, tx: Transaction): Promise<InboundRoute | null> {
    return tx.manager.findOne(InboundRoute, { where: { organizationId, id }, lock: { mode: 'pessimistic_write' } });
  }

  async insert(route: InboundRoute, tx: Transaction): Promise<void> {
    await tx.manager.insert(InboundRoute, route);
  }

  async update({ organizationId, id, ...values }: InboundRoute, tx: Transaction): Promise<void> {
    await tx.manager.update(InboundRoute, { organizationId, id }, values);
  }

  async delete(organizationId: string, id: string, tx: Transaction): Promise<void> {
    await tx.manager.delete(InboundRoute, { organizationId, id });
  }
}
