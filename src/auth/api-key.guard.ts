import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request, Response } from 'express';
import { AppError } from '../common/errors/app-error';
import { clientAddressOf } from '../common/http/client-address';
import { AuthenticationFailures } from '../common/http/request-limits';
import { ApiKeyVerifier } from './api-key-verifier.service';
import { ConsoleCookie } from './console-cookie';
import { ConsoleSessionsService } from './console-sessions.service';
import { bearerToken, kindOfKey } from './key-format';
import { OperatorKeysService } from './operator-keys.service';
import { ACROSS_TENANTS_METADATA, OPERATOR_SCOPE_METADATA, PUBLIC_METADATA } from '../common/http/scopes';
import { enterEveryTenant, enterTenant } from '../common/tenant-scope';

/**
 * First guard: who is calling. Leaves the principal, or the operator, on the request, and lets its statements see the rows of
 * that tenant; those of a route of operators see everyone's.
 */
@Injectable()
export class ApiKeyGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly verifier: ApiKeyVerifier,
    private readonly operatorKeys: OperatorKeysService,
    private readonly cookie: ConsoleCookie,
    private readonly sessions: ConsoleSessionsService,
    private readonly failures: AuthenticationFailures,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const targets = [context.getHandler(), context.getClass()];
    const has = (metadata: string) => Boolean(this.reflector.getAllAndOverride<unknown>(metadata, targets));
    const seesEveryone = has(ACROSS_TENANTS_METADATA) || has(OPERATOR_SCOPE_METADATA);
    if (seesEveryone) enterEveryTenant();
    if (has(PUBLIC_METADATA)) return true;
    const http = context.switchToHttp();
    const request = http.getRequest<Request>();
    await this.authenticate(request);
    const { principal } = request;
    if (principal && !seesEveryone) enterTenant(principal.organizationId);
    if (principal?.mode === 'test') http.getResponse<Response>().setHeader('x-test-mode', 'true');
    return true;
  }

  /** Failures are bounded per client address. */
  private async authenticate(request: Request): Promise<void> {
    const presented = bearerToken(request.headers.authorization);
    try {
      const session = this.cookie.tokenOf(request);
      if (session !== undefined) await this.openSession(request, session);
      else if (kindOfKey(presented) === 'op') request.operator = await this.operatorKeys.verify(presented);
      else request.principal = await this.verifier.verify(presented);
    } catch (error) {
      const guessed = error instanceof AppError && error.code === 'invalid_api_key';
      throw guessed ? this.failures.refusalFor(clientAddressOf(request), error) : error;
    }
  }

  /** The console's cookie stands for the key that it was made for; a write needs its header besides. */
  private async openSession(request: Request, token: string): Promise<void> {
    const { principal, operator } = await this.sessions.callerOf(token);
    request.principal = principal;
    request.operator = operator;
    this.cookie.refuseForeignWrite(request);
  }
}
