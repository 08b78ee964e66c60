import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { findControllers, routesOf } from './api-routes';

const ROOT = path.join(__dirname, '../..');
/** Whole paths; what a page says of the routes of another service, or below a prefix that it names, begins otherwise. */
const ROUTE = /\b(GET|POST|PUT|PATCH|DELETE) (\/(?:v1|operator\/v1|health|t|u|console)(?:\/[\w{}<>…:-]+)*)/g;
const PARAMETER = /\{[^}]*\}|<[^>]*>?|…|:\w+/g;
/** CONTRIBUTING.md shows how one adds them. */
const OF_AN_EXAMPLE = ['GET /v1/notes', 'POST /v1/notes'];

const routes = new Set(
  findControllers()
    .flatMap(routesOf)
    .map(({ method, path: route }) => `${method.toUpperCase()} ${route.replace(PARAMETER, '*')}`),
);

const PAGES = ['.', 'docs', 'docs/adr', 'deploy/prometheus', 'deploy/grafana', 'sdk'].flatMap((folder) =>
  readdirSync(path.join(ROOT, folder))
    // The changelog speaks of routes that have been, too.
    .filter((name) => /\.(md|json|ya?ml)$/.test(name) && name !== 'CHANGELOG.md')
    .map((name) => path.join(folder, name)),
);

describe('the routes that the pages name', () => {
  it('exist', () => {
    const named = PAGES.flatMap((page) =>
      [...readFileSync(path.join(ROOT, page), 'utf8').matchAll(ROUTE)].map(([, method, route = '']) => ({
        page,
        route: `${method} ${route.replace(PARAMETER, '*')}`,
      })),
    );
    expect(named.length).toBeGreaterThan(90);
    const unknown = named.filter(({ route }) => !routes.has(route) && !OF_AN_EXAMPLE.includes(route));
    expect(unknown).toEqual([]);
  });
});
