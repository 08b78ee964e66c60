import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { type AuditRecord, AuditService, INSTALLATION } from '../../audit/audit.service';
import { Clock, SECOND } from '../../common/clock';
import { AppError } from '../../common/errors/app-error';
import type { Operator, Principal } from '../../common/http/principal';
import { Database } from '../../database/pool/database.service';
import type { Transaction } from '../../database/statements/transaction';
import { ApiKeyVerifier } from '../keys/api-key-verifier.service';
import { ApiKeysService } from '../keys/api-keys.service';
import type { ConsoleSession } from './console-session.entity';
import { ConsoleSessionsRepository } from './console-sessions.repository';
import { hashKey, kindOfKey } from '../keys/key-format';
import { OperatorKeysService } from '../keys/operator-keys.service';

/** The longest life of a session, which never outlives its key. */
export const SESSION_SECONDS = 12 * 60 * 60;
/** Concurrent sessions of one key; the oldest ones beyond that end. */
const MAX_SESSIONS = 20;
/** Prefix of operators' session ids: tells which table of keys to read. */
const OPERATOR_PREFIX = 'op_';
const TOKEN_BYTES = 32;
/** In base64url. */
const TOKEN_LENGTH = 43;

/** The signed-in key: an API key or an operator key. */
export type Caller =
  | { readonly principal: Principal; readonly operator?: undefined }
  | { readonly operator: Operator; readonly principal?: undefined };

/** What the browser gets. The service stores only the hash of `token`. */
export interface StartedSession {
  readonly token: string;
  readonly caller: Caller;
}

/**
 * Who is signed in to the console.
 *
 * A session is opened with a key. Each sign-in has a new id. A session has the rights of its key and ends with it.
 */
@Injectable()
export class ConsoleSessionsService {
  constructor(
    private readonly sessions: ConsoleSessionsRepository,
    private readonly verifier: ApiKeyVerifier,
    private readonly operatorKeys: OperatorKeysService,
    private readonly audit: AuditService,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /**
   * @param key a tenant's or an operator's
   * @param admit is called with the id of a valid key, and may throw
   * @throws AppError invalid_api_key, expired_api_key, revoked_api_key or account_suspended; what `admit` throws
   */
  async signIn(key: string, admit: (keyId: string) => void): Promise<StartedSession> {
    const isOperators = kindOfKey(key) === 'op';
    const caller = isOperators
      ? { operator: await this.operatorKeys.verify(key) }
      : { principal: await this.verifier.verify(key) };
    admit(ownerOf(caller).keyId);
    return this.start(caller);
  }

  /** @throws AppError invalid_api_key once the session has ended; as `signIn` for its key */
  async callerOf(token: string): Promise<Caller> {
    if (!isOperators(token)) return { principal: await this.verifier.verifySession(token) };
    const session = await this.sessions.find(hashKey(token));
    if (!session || session.expiresAt <= this.clock.now()) throw endedSession();
    return { operator: await this.operatorKeys.verifyId(session.keyId) };
  }

  private async start(caller: Caller): Promise<StartedSession> {
    const { organizationId, keyId, keyEnd, data } = ownerOf(caller);
    const token = `${caller.operator ? OPERATOR_PREFIX : ''}${randomBytes(TOKEN_BYTES).toString('base64url')}`;
    const createdAt = this.clock.now();
    const end = new Date(createdAt.getTime() + SESSION_SECONDS * SECOND);
    const expiresAt = keyEnd !== undefined && keyEnd < end ? keyEnd : end;
    const session = { hash: hashKey(token), organizationId, keyId, createdAt, expiresAt };
    await this.database.transaction(async (tx) => {
      await this.sessions.deleteExpired(createdAt, tx);
      await this.sessions.start(session, MAX_SESSIONS, tx);
      await this.audit.record([sessionEvent('console.signed_in', session, data)], tx);
    });
    return { token, caller };
  }
}

function ownerOf({ principal, operator }: Caller) {
  if (operator) return { organizationId: INSTALLATION, keyId: operator.keyId, keyEnd: operator.expiresAt, data: {} };
  const { organizationId, apiKeyId: keyId, expiresAt: keyEnd, mode } = principal;
  return { organizationId, keyId, keyEnd, data: { mode } };
}

/** Random text can begin with the prefix as well, but is shorter. */
function isOperators(token: string): boolean {
  return token.startsWith(OPERATOR_PREFIX) && token.length > TOKEN_LENGTH;
}

function endedSession(): AppError {
  return new AppError('invalid_api_key', 'This session has ended', { suggestion: 'Sign in again' });
}

/** The audit record of a sign-in or sign-out. */
function sessionEvent(action: string, { organizationId, keyId }: ConsoleSession, data: object): AuditRecord {
  const isOperator = organizationId === INSTALLATION;
  const actor = isOperator ? `operator:${keyId}` : keyId;
  return { organizationId, actor, action, targetType: isOperator ? 'operator_key' : 'api_key', targetId: keyId, data };
}

/** Ends console sessions, and with them the keys that links created for them. */
@Injectable()
export class ConsoleSignOut {
  constructor(
    private readonly sessions: ConsoleSessionsRepository,
    private readonly keys: ApiKeysService,
    private readonly operatorKeys: OperatorKeysService,
    private readonly verifier: ApiKeyVerifier,
    private readonly audit: AuditService,
    private readonly database: Database,
  ) {}

  /**
   * Ends a session.
   * @param everywhere ends all sessions of its key; for a session opened by a link, all sessions opened by links for the
   *   same organization and mode
   * @returns false when there is none: it has ended already
   */
  async signOut(token: string, everywhere: boolean): Promise<boolean> {
    const session = await this.sessions.find(hashKey(token));
    if (!session) return false;
    const { organizationId, keyId } = session;
    await this.database.transaction(async (tx) => {
      const endedKeys = await this.endKeys(session, everywhere, tx);
      const all = () => this.sessions.endAllOf(organizationId, [keyId, ...endedKeys], tx);
      const ended = everywhere ? await all() : await this.sessions.end(session.hash, tx);
      if (ended > 0) await this.audit.record([sessionEvent('console.signed_out', session, { sessions: ended })], tx);
    });
    this.verifier.forget(organizationId);
    return true;
  }

  private endKeys(session: ConsoleSession, everywhere: boolean, tx: Transaction): Promise<string[]> {
    if (session.organizationId !== INSTALLATION) return this.keys.endSessionKeys(session, everywhere, tx);
    return this.operatorKeys.endSessionKeys(session.keyId, everywhere, tx);
  }
}
