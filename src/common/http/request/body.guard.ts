import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum';
import { Reflector } from '@nestjs/core';
import type { Request } from 'express';
import { type FieldErrors, ValidationError } from '../../errors/app-error';
import { fieldPath } from '../../json/field-path';
import { readJson } from './json-body';
import { BODY_METADATA, type BodyOptions, DEFAULT_BODY, hasBody } from './request-body';

/**
 * Reads the body, as JSON in UTF-8, into `request.body`. It runs after the guards that decide by the headers alone, so the body
 * of a caller without a key takes no memory. An absent or empty body is `undefined`, whatever its declared type, for the routes
 * that take none; so is the body of GET and HEAD.
 */
@Injectable()
export class BodyGuard implements CanActivate {
  private readonly options = new Map<unknown, BodyOptions>();

  constructor(private readonly reflector: Reflector) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const request = context.switchToHttp().getRequest<Request>();
    // A middleware that reads bodies of its own kind leaves its own `request.body`.
    if (!hasBody(request) || request.readableDidRead) return true;
    const body = readJson(request, this.optionsOf(context.getHandler()));
    if (body instanceof Promise) return body.then((value) => keep(request, value));
    return keep(request, body);
  }

  private optionsOf(handler: ReturnType<ExecutionContext['getHandler']>): BodyOptions {
    const known = this.options.get(handler);
    if (known) return known;
    const options = this.reflector.get<BodyOptions | undefined>(BODY_METADATA, handler) ?? DEFAULT_BODY;
    this.options.set(handler, options);
    return options;
  }
}

function keep(request: Request, body: unknown): true {
  request.body = body;
  return true;
}

interface Declared {
  readonly query: boolean;
  readonly body: boolean;
}

/**
 * Refuses query and body fields on API routes that declare none; routes that do name their unknown fields themselves. Runs
 * last, after authentication and rate limits; public routes accept any query.
 */
@Injectable()
export class UndeclaredInputGuard implements CanActivate {
  private readonly declared = new WeakMap<object, Declared>();

  canActivate(context: ExecutionContext): boolean {
    const { principal, operator, query, body } = context
      .switchToHttp()
      .getRequest<Request<unknown, unknown, unknown>>();
    if (!principal && !operator) return true;
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
