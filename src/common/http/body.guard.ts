import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';

/** Last guard: a body that could not be taken is refused only after the caller is known, counted and permitted. */
@Injectable()
export class BodyGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { refusal } = context.switchToHttp().getRequest<FastifyRequest>();
    if (refusal) throw refusal;
    return true;
  }
}
