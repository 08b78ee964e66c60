import type { Principal } from '../../common/http/principal';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { ApiKeyVerifier } from '../../auth/keys/api-key-verifier.service';
import { FairLimit } from '../../common/async/fair-turns';
import { atMost } from '../../common/bounded-cache';
import { MINUTE, SECOND } from '../../common/clock';
import { AppError } from '../../common/errors/app-error';
import { LoginFailures } from '../../common/http/request/request-limits';
import { ownedNetworkOf } from '../../common/network';
import { keyEnded, locked, loginRefused, loginUnavailable, SubmissionRefusal } from './submission-refusal';

/** Limits of the listener: per client, per organization and in all. */
@Injectable()
export class SubmissionLimits {
  /** Concurrent sessions; more get 421. */
  readonly maxSessions: number = 500;
  /** Of one client address (of IPv6: one /64 network). Whole offices and clusters share one. */
  readonly maxSessionsOfClient: number = 100;
  /** Without a login, after which a session gives way to another one of its client, when that has as many as it may. */
  readonly contestedMs: number = 5 * SECOND;
  /** Logged in with keys of one organization: four fifths remain for the others. */
  readonly maxSessionsOfOrganization: number = 100;
  /** Time that a client has to log in. */
  readonly unprovenMs: number = 30 * SECOND;
  readonly maxRecipients: number = 50;
  readonly maxMessageBytes: number = 25 * 1024 * 1024;
  /** A client that exceeds the limit gets 552 after its end of data, up to this size; beyond it the connection closes. */
  readonly maxDataBytes: number = 50 * 1024 * 1024;
  /** Wrong passwords of one client address, at all processes together, within `failureMinutes`; then every login gets 421. */
  readonly maxFailures: number = 10;
  readonly failureMinutes: number = 10;
  /** Without a byte from the client. */
  readonly idleMs: number = MINUTE;
  /** For one message, however active the client is. */
  readonly dataMs: number = 10 * MINUTE;
  /** How often sessions are checked: a revoked key's sessions end within this time plus two seconds. */
  readonly sweepMs: number = 2 * SECOND;
}

const SUBMISSION_USER = 'waybill';
const SCOPE = 'email:send';
const MAX_CLIENTS = 10_000;
/** Logins at a time: a refused one takes four statements, and 400 clients that guessed took every connection to the database. */
const AT_ONCE = 2;

/** Login over SMTP: user `waybill`, and an API key with `email:send` as the password. */
@Injectable()
export class SubmissionLogin {
  /** Failures by client, cached for two seconds. */
  private readonly known = new LRUCache<string, number>({ ...atMost(MAX_CLIENTS), ttl: 2 * SECOND });

  /** Clients whose last login was good: guesses of others do not delay their next ones. */
  private readonly trusted = new LRUCache<string, true>(atMost(MAX_CLIENTS));
  private readonly turns: FairLimit;

  constructor(
    private readonly keys: ApiKeyVerifier,
    private readonly failures: LoginFailures,
    private readonly limits: SubmissionLimits,
  ) {
    this.turns = new FairLimit(AT_ONCE, { atATime: 1, waiting: limits.maxSessions });
  }

  /** Owners of networks take turns. @throws SubmissionRefusal for a good key too, once the client has failed too often */
  async logIn(client: string, user: string, password: string): Promise<Principal> {
    const verify = () => this.verify(client, user, password);
    try {
      const isTrusted = this.trusted.has(client);
      const principal = await (isTrusted ? verify() : this.turns.run(ownedNetworkOf(client), verify));
      this.trusted.set(client, true);
      return principal;
    } catch (error) {
      this.trusted.delete(client);
      throw error;
    }
  }

  private async verify(client: string, user: string, password: string): Promise<Principal> {
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

  async check(key: string): Promise<void> {
    try {
      await this.keys.verify(key);
    } catch (error) {
      if (isRefused(error)) throw keyEnded();
      throw error;
    }
  }

  /** Those of the keys that log in no more: one look-up for each, at most every two seconds. None while the database is unavailable. */
  async endedOf(keys: ReadonlySet<string>): Promise<ReadonlySet<string>> {
    const ended = new Set<string>();
    for (const key of keys) {
      await this.check(key).catch((error: unknown) => {
        if (error instanceof SubmissionRefusal) ended.add(key);
      });
    }
    return ended;
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

  /** Read at most once in two seconds, so failures counted by other processes show that late. */
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
