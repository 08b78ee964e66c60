import type { NextFunction, Request, Response } from 'express';
import { match, type MatchFunction } from 'path-to-regexp';
import { AppError } from '../../errors/app-error';

export type RouteHandler = (request: Request, response: Response, next: NextFunction) => unknown;

type Params = Record<string, string>;

interface Route {
  readonly method: string;
  readonly path: string;
  readonly handler: RouteHandler;
  readonly match: MatchFunction<Params>;
}

interface Found {
  readonly route: Route;
  readonly params: Params;
}

/** Any method. */
const ALL = 'ALL';
/** The longest path parameter is the token of a tracked link: 2,723 characters. */
const MAX_PARAMETER_LENGTH = 3_000;

/**
 * The routes of the controllers as one Express middleware, in Express's own path syntax. Paths without parameters are found by
 * name; the others are tried in order, the more specific first. Express's router would try every route before it in turn, for
 * each request. Paths match exactly: case and slashes count. A fixed path of one method is no parameter of another: `GET
 * /v1/emails/batch` is no email's id.
 */
export class RouteTable {
  private readonly exact = new Map<string, Map<string, Route>>();
  private readonly patterns: Route[] = [];

  add(method: string, path: string, handler: RouteHandler): void {
    const route = { method, path, handler, match: match<Params>(path, { sensitive: true, trailing: false }) };
    if (/[:*{]/.test(path)) {
      this.patterns.push(route);
      this.patterns.sort((one, other) => rankOf(one.path).localeCompare(rankOf(other.path)));
      return;
    }
    const methods = this.exact.get(path) ?? new Map<string, Route>();
    if (!methods.has(method)) methods.set(method, route);
    this.exact.set(path, methods);
  }

  /** Express middleware: runs the route of the request, or passes it on. */
  dispatch(request: Request, response: Response, next: NextFunction): unknown {
    const { method } = request;
    const found = this.find(method, request.path) ?? (method === 'HEAD' ? this.find('GET', request.path) : undefined);
    if (!found) return next();
    request.route = found.route;
    request.params = found.params;
    return found.route.handler(request, response, next);
  }

  /** The refusal when no route has taken the request: 405 when the path exists for another method, else 404. */
  refusalOf(request: Request): AppError {
    const allowed = this.methodsOf(request.path);
    if (allowed.length === 0 || allowed.includes(request.method)) {
      return new AppError('resource_not_found', 'This path does not exist', this.suggestFor(request.path));
    }
    return new AppError('method_not_allowed', `This path does not support ${request.method}`, { details: { allowed } });
  }

  private suggestFor(path: string): { suggestion?: string } {
    const shorter = path.replace(/\/+$/, '');
    if (shorter === path || this.methodsOf(shorter).length === 0) return {};
    return { suggestion: 'Leave out the slash at the end: paths match exactly' };
  }

  private methodsOf(path: string): string[] {
    const exact = this.exact.get(path)?.keys();
    const methods = new Set(
      exact ?? this.patterns.filter((route) => paramsOf(route, path)).map(({ method }) => method),
    );
    if (methods.has('GET')) methods.add('HEAD');
    return [...methods].sort();
  }

  private find(method: string, path: string): Found | undefined {
    const methods = this.exact.get(path);
    if (methods) {
      const exact = methods.get(method) ?? methods.get(ALL);
      return exact && { route: exact, params: {} };
    }
    for (const route of this.patterns) {
      if (route.method !== method && route.method !== ALL) continue;
      const params = paramsOf(route, path);
      if (params) return { route, params };
    }
    return undefined;
  }
}

function paramsOf(route: Route, path: string): Params | undefined {
  const found = route.match(path);
  if (!found) return undefined;
  const isTooLong = Object.values(found.params).some((value) => value.length > MAX_PARAMETER_LENGTH);
  return isTooLong ? undefined : found.params;
}

/** Sorts names before parameters before wildcards, segment by segment. */
function rankOf(path: string): string {
  const ranks = path.split('/').map((segment) => (/[*{]/.test(segment) ? 'c' : segment.startsWith(':') ? 'b' : 'a'));
  return ranks.join('');
}
