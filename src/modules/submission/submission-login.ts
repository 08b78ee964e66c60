import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { ApiKeyVerifier } from '../../auth/api-key-verifier.service';
import { atMost } from '../../common/bounded-cache';
import { MINUTE, SECOND } from '../../common/clock';
import { AppError } from '../../common/errors/app-error';
import type { Principal } from '../../common/http/principal';
import { LoginFailures } from '../../common/http/request-limits';
import { keyEnded, locked, loginRefused, loginUnavailable, SubmissionRefusal } from './submission-refusal';

/** What one client, one organization, and all of them together may take of the listener. */
@Injectable()
export class SubmissionLimits {
  /** At a time; more are answered 421. */
  readonly maxSessions: number = 500;
  /** Of one client address (of IPv6: one /64 network). Whole offices and clusters share one. */
  readonly maxSessionsOfClient: number = 100;
  /** That are logged in with keys of one organization: the others keep four fifths. */
  readonly maxSessionsOfOrganization: number = 100;
  /** Until a client has logged in. */
  readonly unprovenMs: number = 30 * SECOND;
  readonly maxRecipients: number = 50;
  readonly maxMessageBytes: number = 25 * 1024 * 1024;
  /** A client that goes on beyond the limit is answered 552 at its end of data, up to here; then it is cut off. */
  readonly maxDataBytes: number = 50 * 1024 * 1024;
  /** Wrong passwords of one client address at all processes, in so many minutes; then all it gets is 421. */
  readonly maxFailures: number = 10;
  readonly failureMinutes: number = 10;
  /** Without a byte from the client. */
  readonly idleMs: number = MINUTE;
  /** For one message, however busy the client looks. */
  readonly dataMs: number = 10 * MINUTE;
  /** How often sessions are looked at: a revoked key's end within this time, and two seconds. */
  readonly sweepMs: number = 2 * SECOND;
}

const SUBMISSION_USER = 'waybill';
const SCOPE = 'email:send';
const MAX_CLIENTS = 10_000;

/** Who may send over SMTP: user `waybill`, and an API key with `email:send` as the password. */
@Injectable()
export class SubmissionLogin {
  /** Failures by client, as they were known lately. */
  private readonly known = new LRUCache<string, number>({ ...atMost(MAX_CLIENTS), ttl: 2 * SECOND });

  constructor(
    private readonly keys: ApiKeyVerifier,
    private readonly failures: LoginFailures,
    private readonly limits: SubmissionLimits,
  ) {}

  /** @throws SubmissionRefusal also for a good key, once the client has failed too often */
  async logIn(client: string, user: string, password: string): Promise<Principal> {
    try {
      if ((await this.failuresOf(client)) >= this.limits.maxFailures) throw locked();
      if (user !== SUBMISSION_USER) throw loginRefused(`The user name is ${SUBMISSION_USER}, the password an API key`);
      const principal = await this.keys.verify(password);
      if (!principal.scopes.has(SCOPE)) throw loginRefused(`This API key lacks the scope ${SCOPE}`);
      return principal;
    } catch (error) {
      throw await this.counted(client, error);
    }
  }

  /** Whether the key of a session still counts. @throws SubmissionRefusal when it does not */
  async check(key: string): Promise<void> {
    try {
      await this.keys.verify(key);
    } catch (error) {
      if (isRefused(error)) throw keyEnded();
      throw error;
    }
  }

  private async counted(client: string, error: unknown): Promise<Error> {
    const isGuess = isRefused(error) || (error instanceof SubmissionRefusal && error.reason === 'authentication');
    if (!isGuess) return error instanceof SubmissionRefusal ? error : loginUnavailable();
    try {
      this.known.set(client, await this.failures.add(client, this.limits.failureMinutes));
    } catch {
      return loginUnavailable();
    }
    return error instanceof SubmissionRefusal ? error : loginRefused((error as AppError).message);
  }

  /** Asked once in two seconds at most: what other processes count takes as long to be heard of. */
  private async failuresOf(client: string): Promise<number> {
    const known = this.known.get(client);
    if (known !== undefined) return known;
    const count = await this.failures.count(client, this.limits.failureMinutes);
    this.known.set(client, count);
    return count;
  }
}

const REFUSALS = ['invalid_api_key', 'expired_api_key', 'revoked_api_key', 'account_suspended'];

function isRefused(error: unknown): boolean {
  return error instanceof AppError && REFUSALS.includes(error.code);
}
