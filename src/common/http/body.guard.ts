import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request } from 'express';
import { readJson } from './json-body';
import { BODY_METADATA, type BodyOptions, DEFAULT_BODY, hasBody } from './request-body';

/**
 * Reads the body, as JSON in UTF-8, into `request.body`. It runs after the guards that decide by the headers alone, so a
 * caller without a key learns nothing about a body, and costs none of the memory for it. An absent or empty body is
 * `undefined`, whatever its declared type, for the routes that take none; so is the body of GET and HEAD.
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
