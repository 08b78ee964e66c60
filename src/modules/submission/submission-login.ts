import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { atMost } from '../../common/bounded-cache';
import { ApiKeyVerifier } from '../../auth/api-key-verifier.service';
import { SECOND } from '../../common/clock';
import { AppError } from '../../common/errors/app-error';
import type { Principal } from '../../common/http/principal';
import { LoginFailures } from '../../common/http/request-limits';
import { SubmissionLimits } from './submission-limits';
import { keyEnded, locked, loginRefused, loginUnavailable, SubmissionRefusal } from './submission-refusal';

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
