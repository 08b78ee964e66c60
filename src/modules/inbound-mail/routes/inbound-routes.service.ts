import { Injectable } from '@nestjs/common';
import { AuditService } from '../../../audit/audit.service';
import { Clock } from '../../../common/clock';
import { AppError, NotFoundError, ValidationError } from '../../../common/errors/app-error';
import { type NamedSlice, newId } from '../../../common/ids';
import { AppConfig } from '../../../config/config';
import { violatedConstraint } from '../../../database/statements/database-errors';
import { Database } from '../../../database/pool/database.service';
import type { Transaction } from '../../../database/statements/transaction';
import { InboundMailLimits } from '../emails/inbound-mail-limits';
import type { InboundRoute } from './inbound-route.entity';
import { InboundRoutesRepository } from './inbound-routes.repository';
import { hostOf, parseRouteAddress, refuseOwnAddress } from './route-address';

/** Who changes it. */
export interface RouteAuthor {
  readonly organizationId: string;
  readonly actor: string;
}

/** A route, with the verified domain at or above its host; without one, mail to it is refused. */
export interface ShownRoute extends InboundRoute {
  readonly domainId: string | undefined;
}

/** What is undefined stays; `null` takes the webhook away. */
export interface RouteChange {
  readonly address?: string | undefined;
  readonly webhookId?: string | null | undefined;
}

/** The addresses whose mail an organization takes: at its verified domains, and below them. */
@Injectable()
export class InboundRoutesService {
  constructor(
    private readonly routes: InboundRoutesRepository,
    private readonly audit: AuditService,
    private readonly limits: InboundMailLimits,
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly config: AppConfig,
  ) {}

  /** @throws AppError invalid_request, domain_not_verified, inbound_route_already_exists, inbound_route_limit_reached */
  async create(
    author: RouteAuthor,
    { address, webhookId = null }: RouteChange & { address: string },
  ): Promise<ShownRoute> {
    const { organizationId } = author;
    const { domainId, ...named } = await this.named(organizationId, address);
    await this.checkWebhook(organizationId, webhookId);
    const now = this.clock.now();
    const route = { organizationId, id: newId(), ...named, webhookId, createdAt: now, updatedAt: now };
    await this.write(organizationId, route.address, async (tx) => {
      const { maxRoutes } = this.limits;
      if ((await this.routes.count(organizationId, tx)) >= maxRoutes) {
        throw new AppError('inbound_route_limit_reached', `An organization has at most ${maxRoutes} inbound routes`);
      }
      if (await this.routes.isTaken(route, tx)) throw alreadyExists(route.address);
      await this.routes.insert(route, tx);
      await this.record(author, 'inbound_route.created', route, tx);
    });
    return { ...route, domainId };
  }

  /** By address. */
  async page(organizationId: string, slice: NamedSlice) {
    const [routes, total] = await this.routes.page(organizationId, slice);
    return { routes: await this.described(organizationId, routes), total };
  }

  /** By address: at most `maxRoutes`. */
  async all(organizationId: string): Promise<ShownRoute[]> {
    return (await this.page(organizationId, { after: undefined, skip: 0, take: this.limits.maxRoutes })).routes;
  }

  /** What the organization keeps of the mail that came; beyond `maxBytes` more is put off. */
  async usage(organizationId: string): Promise<{ emails: number; bytes: number; maxBytes: number }> {
    const { emails, bytes } = (await this.routes.usage(organizationId)) ?? { emails: 0, bytes: 0 };
    return { emails: Number(emails), bytes: Number(bytes), maxBytes: this.config.limits.inboundStoredBytes };
  }

  /** @throws NotFoundError */
  async get(organizationId: string, id: string): Promise<ShownRoute> {
    const route = await this.routes.find(organizationId, id);
    if (!route) throw unknownRoute();
    const [shown] = await this.described(organizationId, [route]);
    return shown as ShownRoute;
  }

  /** Mail that has come stays as it is. @throws NotFoundError, and as `create` */
  async change(author: RouteAuthor, id: string, { address, webhookId }: RouteChange): Promise<ShownRoute> {
    const { organizationId } = author;
    if (address === undefined && webhookId === undefined) {
      throw new ValidationError({ body: ['body must hold address or webhookId'] });
    }
    const named = address === undefined ? undefined : await this.named(organizationId, address);
    await this.checkWebhook(organizationId, webhookId ?? null);
    await this.write(organizationId, named?.address ?? '', async (tx) => {
      const before = await this.routes.lock(organizationId, id, tx);
      if (!before) throw unknownRoute();
      const kept = webhookId === undefined ? before.webhookId : webhookId;
      const changed = { address: named?.address ?? before.address, webhookId: kept, updatedAt: this.clock.now() };
      const route = { ...before, ...changed };
      if (named && (await this.routes.isTaken(route, tx))) throw alreadyExists(route.address);
      await this.routes.update(route, tx);
      await this.record(author, 'inbound_route.changed', route, tx);
    });
    return this.get(organizationId, id);
  }

  /** Mail to it is refused from now on; stored mail stays. @throws NotFoundError */
  async remove(author: RouteAuthor, id: string): Promise<void> {
    const { organizationId } = author;
    await this.database.transaction(async (tx) => {
      const route = await this.routes.lock(organizationId, id, tx);
      if (!route) throw unknownRoute();
      await this.routes.delete(organizationId, id, tx);
      await this.record(author, 'inbound_route.deleted', route, tx);
    });
  }

  private async named(organizationId: string, text: string): Promise<{ address: string; domainId: string }> {
    const { address, host } = parseRouteAddress(text);
    refuseOwnAddress({ address, host }, this.config);
    const domainId = (await this.routes.domainsOf(organizationId, [host])).get(host);
    if (domainId !== undefined) return { address, domainId };
    throw new AppError('domain_not_verified', `Neither ${host} nor a domain above it is verified`, {
      suggestion: 'Add the domain under /v1/domains, publish its records and verify it',
    });
  }

  /** A webhook that has been deleted is not shown: mail goes as without one. */
  private async described(organizationId: string, routes: readonly InboundRoute[]): Promise<ShownRoute[]> {
    const hosts = routes.map(({ address }) => hostOf(address));
    const domains = await this.routes.domainsOf(organizationId, [...new Set(hosts)]);
    const named = routes.flatMap(({ webhookId }) => webhookId ?? []);
    const webhooks = await this.routes.webhooksAmong(organizationId, named);
    return routes.map((route, index) => ({
      ...route,
      webhookId: webhooks.has(route.webhookId ?? '') ? route.webhookId : null,
      domainId: domains.get(hosts[index] ?? ''),
    }));
  }

  private async checkWebhook(organizationId: string, webhookId: string | null): Promise<void> {
    if (webhookId === null || (await this.routes.webhooksAmong(organizationId, [webhookId])).size > 0) return;
    throw new ValidationError({ webhookId: ['webhookId must be a live webhook of the organization'] });
  }

  /** Processes of the release before change addresses without the lock: there the index decides. */
  private async write(organizationId: string, address: string, work: (tx: Transaction) => Promise<void>) {
    try {
      await this.database.transaction(async (tx) => {
        await this.routes.lockList(organizationId, tx);
        await work(tx);
      });
    } catch (error) {
      throw violatedConstraint(error) === 'inbound_routes_address' ? alreadyExists(address) : error;
    }
  }

  private async record(
    { organizationId, actor }: RouteAuthor,
    action: string,
    { id: targetId, address, webhookId }: InboundRoute,
    tx: Transaction,
  ): Promise<void> {
    const data = { mode: 'live', address, webhookId };
    await this.audit.record([{ organizationId, actor, action, targetType: 'inbound_route', targetId, data }], tx);
  }
}

function alreadyExists(address: string): AppError {
  return new AppError('inbound_route_already_exists', `The organization has a route for ${address} already`);
}

function unknownRoute(): NotFoundError {
  return new NotFoundError('Inbound route');
}
