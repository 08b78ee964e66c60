import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { atMost } from '../common/bounded-cache';
import { Clock, MINUTE } from '../common/clock';
import type { Principal } from '../common/http/principal';
import { AuditService } from '../audit/audit.service';
import type { KeyByHash } from './sql/api-keys.sql';

const SAMPLE_MS = 10 * MINUTE;

/**
 * Notes refused requests of known keys in the audit log: at most one note per key and route, or key and reason, in ten minutes
 * and process, so that a client that keeps trying does not fill the log.
 */
@Injectable()
export class RefusedAccessService {
  /** Monotonic time of the last note, by key and route or reason. */
  private readonly noted = new LRUCache<string, number>(atMost(10_000));

  constructor(
    private readonly audit: AuditService,
    private readonly clock: Clock,
  ) {}

  /** @param route method and pattern, such as `GET /v1/emails/:id` */
  scopeDenied({ organizationId, apiKeyId: actor, mode }: Principal, route: string, required: string | undefined): void {
    if (!this.isDue(`${actor} ${route}`)) return;
    const target = { targetType: 'route', targetId: route };
    this.audit.note({ organizationId, actor, action: 'auth.scope_denied', ...target, data: { mode, required } });
  }

  /** Notes the use of a key that is no longer valid. */
  keyRefused({ organizationId, id, mode }: KeyByHash, reason: 'revoked' | 'expired'): void {
    if (!this.isDue(`${id} ${reason}`)) return;
    const target = { targetType: 'api_key', targetId: id };
    this.audit.note({ organizationId, actor: id, action: 'auth.key_refused', ...target, data: { mode, reason } });
  }

  private isDue(subject: string): boolean {
    const now = this.clock.monotonicMs();
    if (now - (this.noted.get(subject) ?? -Infinity) < SAMPLE_MS) return false;
    this.noted.set(subject, now);
    return true;
  }
}
