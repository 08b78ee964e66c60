import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { AuditService, type AuditRecord, INSTALLATION, OPERATOR } from '../../audit/audit.service';
import { Clock, MINUTE, SECOND } from '../../common/clock';
import { AppError } from '../../common/errors/app-error';
import { ALL_OPERATOR_SCOPES, ALL_SCOPES } from '../../common/http/scopes';
import type { Mode } from '../../common/tenant';
import { Database } from '../../database/pool/database.service';
import type { Transaction } from '../../database/statements/transaction';
import { ApiKeysService } from '../keys/api-keys.service';
import type { ConsoleLink } from './console-session.entity';
import { ConsoleSessionsRepository } from './console-sessions.repository';
import { SESSION_SECONDS } from './console-sessions.service';
import { hashKey } from '../keys/key-format';
import { OperatorKeysService } from '../keys/operator-keys.service';

const LINK_MS = 15 * MINUTE;

/** Whose pages a link opens: those of an organization, which has to exist, or the operator's. */
export type LinkTarget = { readonly organizationId: string; readonly mode: Mode } | 'operator';

export interface SignInLink {
  /** Relative to the service's address. The token follows the `#`: browsers do not send that part, so no log holds it. */
  readonly path: string;
  readonly expiresAt: Date;
}

/** Links that sign in to the console once, within 15 minutes, with every scope. Only the command line creates them. */
@Injectable()
export class ConsoleLinksService {
  constructor(
    private readonly sessions: ConsoleSessionsRepository,
    private readonly keys: ApiKeysService,
    private readonly operatorKeys: OperatorKeysService,
    private readonly audit: AuditService,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  async create(target: LinkTarget): Promise<SignInLink> {
    const token = randomBytes(32).toString('base64url');
    const expiresAt = new Date(this.clock.now().getTime() + LINK_MS);
    const whose = target === 'operator' ? { organizationId: INSTALLATION, mode: null } : target;
    const link = { ...whose, hash: hashKey(token), expiresAt };
    await this.database.transaction(async (tx) => {
      await this.sessions.addLink(link, tx);
      await this.audit.record([linkEvent(link)], tx);
    });
    return { path: `/console#link=${token}`, expiresAt };
  }

  /**
   * Exchanges a link for a session with a key of its own, which is never shown. The key gives the session its rights, appears in lists
   * and the audit log, can be revoked like any other, and ends with the session.
   * @param open starts the session; when it throws, the key is revoked at once, and the link can be used again
   * @throws AppError invalid_api_key for a link that is unknown, used or too old; what `open` throws
   */
  async redeem<T>(token: string, open: (key: string) => Promise<T>): Promise<T> {
    const now = this.clock.now();
    const link = await this.database.transaction((tx) => this.sessions.takeLink(hashKey(token), now, tx));
    if (!link) throw deadLink();
    let id: string | undefined;
    try {
      const created = await this.createKey(link, now);
      id = created.id;
      return await open(created.key);
    } catch (error) {
      // It has signed nobody in: its organization is suspended, say, or the database was away.
      await this.database.transaction(async (tx) => {
        if (id !== undefined) await this.revokeKey(link, id, tx);
        await this.sessions.addLink(link, tx);
      });
      throw error;
    }
  }

  private createKey({ organizationId, mode }: ConsoleLink, now: Date): Promise<{ id: string; key: string }> {
    const expiresAt = new Date(now.getTime() + SESSION_SECONDS * SECOND);
    const wanted = { name: 'Console, by a sign-in link', expiresAt, sessionOnly: true };
    if (mode === null) return this.operatorKeys.create({ ...wanted, scopes: ALL_OPERATOR_SCOPES });
    return this.keys.create(organizationId, { ...wanted, mode, scopes: ALL_SCOPES });
  }

  private revokeKey({ organizationId, mode }: ConsoleLink, id: string, tx: Transaction): Promise<string[]> {
    if (mode === null) return this.operatorKeys.endSessionKeys(id, false, tx);
    return this.keys.endSessionKeys({ organizationId, keyId: id }, false, tx);
  }
}

function deadLink(): AppError {
  return new AppError('invalid_api_key', 'This sign-in link has been used, or is older than 15 minutes', {
    suggestion: 'Make another one: npm run waybill -- console link --org <id>, or --operator',
  });
}

function linkEvent({ organizationId, mode }: ConsoleLink): AuditRecord {
  const targetType = mode === null ? 'installation' : 'organization';
  const target = { targetType, targetId: organizationId };
  return { organizationId, actor: OPERATOR, action: 'console.link_created', ...target, data: mode ? { mode } : {} };
}
