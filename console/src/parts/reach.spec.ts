import { GUARDS_METADATA } from '@nestjs/common/constants.js';
import { type ApiRoute, findControllers, routesOf } from '../../../test/architecture/api-routes';
import { OF_ALL_DOMAINS, OF_LIVE_MAIL } from './reach';

interface Guarded extends ApiRoute {
  readonly guards: readonly string[];
}

/** The routes of tenants, with the names of the guards that each has. */
function guardedRoutes(): Guarded[] {
  return findControllers().flatMap((controller) => {
    const guardsOf = (target: object): readonly { readonly name: string }[] =>
      Reflect.getMetadata(GUARDS_METADATA, target) ?? [];
    const handlers = controller.prototype as Record<string, object>;
    return routesOf(controller)
      .filter(({ scope, isOperators }) => scope !== undefined && !isOperators)
      .map((route) => {
        const handler = handlers[route.name.split('.')[1] ?? ''] ?? {};
        return { ...route, guards: [...guardsOf(controller), ...guardsOf(handler)].map(({ name }) => name) };
      });
  });
}

/** Where the routes that have a guard differ from those of the scopes. */
function differences(guard: string, scopes: ReadonlySet<string>) {
  const routes = guardedRoutes().map((route) => ({ ...route, isRefused: route.guards.includes(guard) }));
  const namesOf = (found: readonly Guarded[]) => found.map(({ name }) => name).sort();
  return {
    openAllTheSame: namesOf(routes.filter(({ scope = '', isRefused }) => scopes.has(scope) && !isRefused)),
    refusedAllTheSame: namesOf(routes.filter(({ scope = '', isRefused }) => !scopes.has(scope) && isRefused)),
  };
}

describe('what the console offers to a key', () => {
  it('is what the service lets a key do that is bound to a domain', () => {
    expect(differences('UnboundGuard', OF_ALL_DOMAINS)).toEqual({
      // Pages that use it need nothing else of the list.
      openAllTheSame: ['SuppressionsController.check'],
      // Pages that use these look at the domain of the key.
      refusedAllTheSame: [
        ...['DomainsController.add', 'DomainsController.setDefault'],
        ...['add', 'change', 'detail', 'list', 'remove'].map((name) => `InboundRoutesController.${name}`),
      ],
    });
  });

  it('is what the service lets a test key do', () => {
    expect(differences('LiveOnlyGuard', OF_LIVE_MAIL)).toEqual({ openAllTheSame: [], refusedAllTheSame: [] });
  });
});
