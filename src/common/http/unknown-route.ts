import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AppError } from '../errors/app-error';
import type { FastifyReply } from 'fastify';
import { sendError } from './error-response';

/** Knows the methods that routes were registered for, and answers what no route takes. */
export class UnknownRoutes {
  private readonly methods = new Set<string>();

  /** Must be made before the first route. */
  constructor(private readonly instance: FastifyInstance) {
    instance.addHook('onRoute', ({ method }) => {
      for (const one of [method].flat()) this.methods.add(one);
    });
  }

  /** 405 with `Allow` when the path exists for another method, else 404. */
  answer(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const allowed = this.methodsOf(request.raw.url ?? '/');
    if (allowed.length === 0 || allowed.includes(request.method)) {
      return sendError(reply, new AppError('resource_not_found', 'This path does not exist'));
    }
    void reply.header('allow', allowed.join(', '));
    return sendError(
      reply,
      new AppError('method_not_allowed', `This path does not support ${request.method}`, { details: { allowed } }),
    );
  }

  private methodsOf(url: string): string[] {
    return [...this.methods].filter((method) => this.instance.findRoute({ method, url }) !== null).sort();
  }
}
