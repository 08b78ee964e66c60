import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum';
import type { Request } from 'express';
import { type FieldErrors, ValidationError } from '../errors/app-error';
import { fieldPath } from './field-path';

interface Declared {
  readonly query: boolean;
  readonly body: boolean;
}

/**
 * Refuses query and body fields on API routes that declare none; routes that do name their unknown fields themselves.
 * Runs last, when the caller is known and counted; public routes take whatever query a browser sends.
 */
@Injectable()
export class UndeclaredInputGuard implements CanActivate {
  private readonly declared = new WeakMap<object, Declared>();

  canActivate(context: ExecutionContext): boolean {
    const { principal, query, body } = context.switchToHttp().getRequest<Request<unknown, unknown, unknown>>();
    if (!principal) return true;
    const declared = this.declaredBy(context);
    const errors = { ...(!declared.query && namesOf(query)), ...(!declared.body && namesOf(body)) };
    if (Object.keys(errors).length > 0) throw new ValidationError(errors);
    return true;
  }

  private declaredBy(context: ExecutionContext): Declared {
    const handler = context.getHandler();
    const known = this.declared.get(handler);
    if (known) return known;
    const parameters = (Reflect.getMetadata(ROUTE_ARGS_METADATA, context.getClass(), handler.name) ?? {}) as object;
    const kinds = new Set(Object.keys(parameters).map((key) => Number(key.split(':')[0])));
    const declared = { query: kinds.has(RouteParamtypes.QUERY), body: kinds.has(RouteParamtypes.BODY) };
    this.declared.set(handler, declared);
    return declared;
  }
}

function namesOf(input: unknown): FieldErrors {
  if (typeof input !== 'object' || input === null) return {};
  return Object.fromEntries(
    Object.keys(input).map((name) => [fieldPath([name]), [`${fieldPath([name])} is not a known field`]]),
  );
}
