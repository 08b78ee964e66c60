import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request, Response } from 'express';
import { FairStarts } from '../common/async/fair-turns';
import { AppError } from '../common/errors/app-error';
import { patternOf } from '../common/http/request/request';
import { AuthenticationFailures, RequestLimits } from '../common/http/request/request-limits';
import {
  ACROSS_TENANTS_METADATA,
  ALL_OPERATOR_SCOPES,
  OPERATOR_SCOPE_METADATA,
  PUBLIC_METADATA,
  SCOPE_METADATA,
} from '../common/http/scopes';
import { enterEveryTenant, enterTenant } from '../common/tenant';
import { ApiKeyVerifier } from './keys/api-key-verifier.service';
import { ConsoleCookie } from './console-sessions/console-cookie';
import { ConsoleSessionsService } from './console-sessions/console-sessions.service';
import { bearerToken, kindOfKey } from './keys/key-format';
import { OperatorKeysService } from './keys/operator-keys.service';
import { RefusedAccessService } from './keys/refused-access.service';

/**
 * First guard: who is calling. Puts the principal, or the operator, on the request, and limits its statements to the rows of
 * that tenant; statements of an operator route see all rows.
 */
@Injectable()
export class ApiKeyGuard implements CanActivate {
  /** Requests of one client address may be those of many organizations, where a proxy is in between. */
  private readonly starts = new FairStarts();

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
    if (principal) await this.starts.next(principal.organizationId);
    if (principal && !seesEveryone) enterTenant(principal.organizationId);
    if (principal?.mode === 'test') http.getResponse<Response>().setHeader('x-test-mode', 'true');
    return true;
  }

  private authenticate(request: Request): Promise<void> {
    const session = this.cookie.tokenOf(request);
    if (session !== undefined) return this.failures.verify(request, session, () => this.openSession(request, session));
    const presented = bearerToken(request.headers.authorization);
    return this.failures.verify(request, presented, () => this.identify(request, presented));
  }

  private async identify(request: Request, presented: string): Promise<void> {
    if (kindOfKey(presented) === 'op') request.operator = await this.operatorKeys.verify(presented);
    else request.principal = await this.verifier.verify(presented);
  }

  /** The console's cookie stands for the key that signed in; a write needs the console's header as well. */
  private async openSession(request: Request, token: string): Promise<void> {
    const { principal, operator } = await this.sessions.callerOf(token);
    request.principal = principal && { ...principal, isSession: true };
    request.operator = operator;
    this.cookie.refuseForeignWrite(request);
  }
}

/** No scope would help: the route needs a key of the other kind. */
const NO_TENANT_KEY = [
  'Operator keys open /operator/v1 and nothing else',
  'Use an API key of the organization: `waybill key create`, or POST /operator/v1/organizations/{id}/api-keys',
] as const;
const NO_OPERATOR_KEY = [
  'API keys of organizations do not open /operator/v1',
  'Use an operator key: `waybill operator-key create`',
] as const;

/**
 * Second guard: what the caller may do. Deny by default: a route that declares nothing is refused. Tenants' keys and
 * operators' keys have no scope in common, so neither opens a route of the other.
 */
@Injectable()
export class ScopeGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly limits: RequestLimits,
    private readonly refused: RefusedAccessService,
  ) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const targets = [context.getHandler(), context.getClass()];
    if (this.reflector.getAllAndOverride<boolean | undefined>(PUBLIC_METADATA, targets)) return true;
    const required = [SCOPE_METADATA, OPERATOR_SCOPE_METADATA]
      .map((key) => this.reflector.getAllAndOverride<string | undefined>(key, targets))
      .find((scope) => scope !== undefined);
    const request = context.switchToHttp().getRequest<Request>();
    const { principal, operator, method } = request;
    if (required !== undefined && (principal ?? operator)?.scopes.has(required)) return true;
    if (principal) this.refused.scopeDenied(principal, `${method} ${patternOf(request)}`, required);
    return this.refuse(context, required);
  }

  /** A refused request counts too, and its response carries the limits like every authenticated one. */
  private async refuse(context: ExecutionContext, required: string | undefined): Promise<never> {
    await this.limits.count(context);
    throw missingScope(required, context.switchToHttp().getRequest<Request>().operator !== undefined);
  }
}

function missingScope(required: string | undefined, isOperator: boolean): AppError {
  if (required === undefined) return new AppError('insufficient_permissions', 'This route is not open to any scope');
  const details = { required };
  if (isOperator !== isOfOperators(required)) {
    const [message, suggestion] = isOperator ? NO_TENANT_KEY : NO_OPERATOR_KEY;
    return new AppError('insufficient_permissions', message, { details, suggestion });
  }
  return new AppError('insufficient_permissions', `This API key lacks the required scope ${required}`, {
    details,
    suggestion: `Use a key with the scope ${required}`,
  });
}

function isOfOperators(scope: string): boolean {
  return ALL_OPERATOR_SCOPES.some((name) => name === scope);
}
