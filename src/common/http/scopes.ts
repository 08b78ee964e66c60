import { applyDecorators, SetMetadata } from '@nestjs/common';
import { ApiBearerAuth, ApiExtension, ApiSecurity } from '@nestjs/swagger';

/** Every scope a key can carry, with what it covers. */
export const SCOPES = {
  'email:send': 'Send and cancel emails',
  'email:read': 'Read emails, their events and contents',
  'domain:read': 'Read domains',
  'domain:manage': 'Read and manage domains',
  'stats:read': 'Read statistics and reputation',
  'suppression:read': 'Read the suppression list',
  'suppression:manage': 'Change the suppression list',
  'privacy:read': 'Read privacy requests and the audit log',
  'privacy:manage': 'Request exports and erasures',
  'template:read': 'Read and preview templates',
  'template:manage': 'Manage templates',
  'webhook:read': 'Read webhooks',
  'webhook:manage': 'Manage webhooks',
  'inbound:read': 'Read inbound routes and the mail that came by them',
  'inbound:manage': 'Manage inbound routes',
  'key:manage': 'Manage API keys',
} as const;

export type Scope = keyof typeof SCOPES;

/** Every scope that an operator's key can carry. */
export const OPERATOR_SCOPES = {
  'operator:read': 'See organizations, the queue, destinations, workers and the audit log of the installation',
  'operator:manage': 'Read and change them',
} as const;

export type OperatorScope = keyof typeof OPERATOR_SCOPES;

export const ALL_OPERATOR_SCOPES = Object.keys(OPERATOR_SCOPES) as OperatorScope[];

export const ALL_SCOPES = Object.keys(SCOPES) as Scope[];

/** Scopes that another scope brings with it. */
const IMPLIED: Partial<Record<string, readonly string[]>> = {
  'domain:manage': ['domain:read'],
  'inbound:manage': ['inbound:read'],
  'operator:manage': ['operator:read'],
  'template:manage': ['template:read'],
};

/** The scopes as granted, with the implied ones. */
export function effectiveScopes(granted: readonly string[]): ReadonlySet<string> {
  return new Set(granted.flatMap((scope) => [scope, ...(IMPLIED[scope] ?? [])]));
}

export const SCOPE_METADATA = 'waybill:scope';
export const OPERATOR_SCOPE_METADATA = 'waybill:operator-scope';
export const PUBLIC_METADATA = 'waybill:public';
export const ACROSS_TENANTS_METADATA = 'waybill:across-tenants';

/** The scope a route needs. A route with neither this nor `@Public()` is refused. */
export function RequireScope(scope: Scope): MethodDecorator & ClassDecorator {
  return applyDecorators(SetMetadata(SCOPE_METADATA, scope), ApiBearerAuth(), ApiExtension('x-required-scope', scope));
}

/** The scope that a route of `/operator/v1` needs, which only operators' keys have. */
export function RequireOperatorScope(scope: OperatorScope): MethodDecorator & ClassDecorator {
  return applyDecorators(
    SetMetadata(OPERATOR_SCOPE_METADATA, scope),
    ApiBearerAuth('operator'),
    ApiExtension('x-required-scope', scope),
  );
}

/** A route that needs no key: health, documentation, pages. */
export function Public(): MethodDecorator & ClassDecorator {
  return applyDecorators(SetMetadata(PUBLIC_METADATA, true), ApiSecurity({}));
}

/** A route whose statements see everyone's rows: what it finds is decided by a token, or it is the operator's. */
export function AcrossTenants(): MethodDecorator & ClassDecorator {
  return SetMetadata(ACROSS_TENANTS_METADATA, true);
}
