import { applyDecorators, SetMetadata } from '@nestjs/common';
import { ApiBearerAuth, ApiExtension, ApiSecurity } from '@nestjs/swagger';
import type { Scope } from './scopes';

export const SCOPE_METADATA = 'waybill:scope';
export const PUBLIC_METADATA = 'waybill:public';

/** The scope a route needs. A route with neither this nor `@Public()` is refused. */
export function RequireScope(scope: Scope): MethodDecorator & ClassDecorator {
  return applyDecorators(SetMetadata(SCOPE_METADATA, scope), ApiBearerAuth(), ApiExtension('x-required-scope', scope));
}

/** A route that needs no key: health, documentation, pages. */
export function Public(): MethodDecorator & ClassDecorator {
  return applyDecorators(SetMetadata(PUBLIC_METADATA, true), ApiSecurity({}));
}
