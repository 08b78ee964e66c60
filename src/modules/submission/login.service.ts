import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { ApiKeyVerifier } from '../../auth/api-key-verifier.service';
import { Clock } from '../../common/clock';
import { AppError } from '../../common/errors/app-error';
import type { Principal } from '../../common/http/principal';
import { SubmissionLimits } from './submission-limits';
import { keyEnded, locked, loginRefused, loginUnavailable } from './submission-refusal';

export const SUBMISSION_USER = 'waybill';
const SCOPE = 'email:send';
const MAX_CLIENTS = 10_000;

interface Failures {
  count: number;
  readonly endMs: number;
}

/** Who may send over SMTP: user `waybill`, and an API key with `email:send` as the password. */
@Injectable()
export class LoginService {
  private readonly failures = new LRUCache<string, Failures>({ max: MAX_CLIENTS });

  constructor(
    private readonly keys: ApiKeyVerifier,
    private readonly limits: SubmissionLimits,
    private readonly clock: Clock,
  ) {}

  /** @throws SubmissionRefusal also for a good key, once the client has failed too often */
  async logIn(client: string, user: string, password: string): Promise<Principal> {
    if (this.isLocked(client)) throw locked();
    try {
      if (user !== SUBMISSION_USER) throw loginRefused(`The user name is ${SUBMISSION_USER}, the password an API key`);
      const principal = await this.keys.verify(password);
      if (!principal.scopes.has(SCOPE)) throw loginRefused(`This API key lacks the scope ${SCOPE}`);
      return principal;
    } catch (error) {
      throw this.counted(client, error);
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

  private counted(client: string, error: unknown): Error {
    if (error instanceof AppError && !isRefused(error)) return loginUnavailable();
    if (!(error instanceof Error) || !('responseCode' in error || isRefused(error))) return loginUnavailable();
    const failures = this.failuresOf(client);
    failures.count += 1;
    return error instanceof AppError ? loginRefused(error.message) : error;
  }

  private isLocked(client: string): boolean {
    const known = this.failures.get(client);
    const isOver = known === undefined || this.clock.monotonicMs() >= known.endMs;
    return !isOver && known.count >= this.limits.maxFailures;
  }

  private failuresOf(client: string): Failures {
    const nowMs = this.clock.monotonicMs();
    const known = this.failures.get(client);
    if (known && nowMs < known.endMs) return known;
    const failures = { count: 0, endMs: nowMs + this.limits.failureMs };
    this.failures.set(client, failures);
    return failures;
  }
}

const REFUSALS = ['invalid_api_key', 'expired_api_key', 'revoked_api_key', 'account_suspended'];

function isRefused(error: unknown): boolean {
  return error instanceof AppError && REFUSALS.includes(error.code);
}
