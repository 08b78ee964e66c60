import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { atMost } from '../../common/bounded-cache';
import { Clock, MINUTE } from '../../common/clock';
import type { Principal } from '../../common/http/principal';
import { AuditService } from '../../audit/audit.service';
import type { KeyByHash } from './sql/api-keys.sql';

const SAMPLE_MS = 10 * MINUTE;
/** Of an organization: with all keys that it may have, at all routes, there would be 6,000 notes a minute. */
const SAMPLES_OF_ONE = 100;

interface Share {
  readonly sinceMs: number;
  notes: number;
}

/**
 * Notes refused requests of known keys in the audit log: at most one note per key and route, or key and reason, and a hundred of an
 * organization, in ten minutes and process, so that clients that keep trying do not fill the log, or drive out the notes of others.
 */
@Injectable()
export class RefusedAccessService {
  /** Monotonic time of the last note, by key and route or reason. */
  private readonly noted = new LRUCache<string, number>(atMost(10_000));
  private readonly shares = new LRUCache<string, Share>(atMost(10_000));

  constructor(
    private readonly audit: AuditService,
    private readonly clock: Clock,
  ) {}

  /** @param route method and pattern, such as `GET /v1/emails/:id` */
  scopeDenied({ organizationId, apiKeyId: actor, mode }: Principal, route: string, required: string | undefined): void {
    if (!this.isDue(organizationId, `${actor} ${route}`)) return;
    const target = { targetType: 'route', targetId: route };
    this.audit.note({ organizationId, actor, action: 'auth.scope_denied', ...target, data: { mode, required } });
  }

  /** Notes the use of a key that is no longer valid. */
  keyRefused({ organizationId, id, mode }: KeyByHash, reason: 'revoked' | 'expired'): void {
    if (!this.isDue(organizationId, `${id} ${reason}`)) return;
    const target = { targetType: 'api_key', targetId: id };
    this.audit.note({ organizationId, actor: id, action: 'auth.key_refused', ...target, data: { mode, reason } });
  }

  private isDue(organizationId: string, subject: string): boolean {
    const now = this.clock.monotonicMs();
    if (now - (this.noted.get(subject) ?? -Infinity) < SAMPLE_MS) return false;
    const share = this.shareOf(organizationId, now);
    if (share.notes >= SAMPLES_OF_ONE) return false;
    share.notes += 1;
    this.noted.set(subject, now);
    return true;
  }

  private shareOf(organizationId: string, now: number): Share {
    const present = this.shares.get(organizationId);
    if (present && now - present.sinceMs < SAMPLE_MS) return present;
    const share = { sinceMs: now, notes: 0 };
    this.shares.set(organizationId, share);
    return share;
  }
}
