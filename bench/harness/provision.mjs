import { load } from './product.mjs';

/** Migrates the schema and creates the tenant that all figures use, with the product's own services. */
export async function provision(environment, databaseUrl) {
  const { loadConfig } = load('./config/load-config.js');
  const { openDatabase } = load('./database/start/open-database.js');
  const config = loadConfig(environment);
  await (await openDatabase(config, { log: () => undefined, migrate: true })).stop();
  return addTenant(environment, databaseUrl, 'bench');
}

/** An organization with a verified domain `<name>.test` and a key: `{organizationId, key, domain}`. */
export async function addTenant(environment, databaseUrl, name, scopes = ['email:send', 'email:read']) {
  const { loadConfig } = load('./config/load-config.js');
  const { createServices } = load('./cli/session/services.js');
  const services = await createServices(loadConfig(environment), databaseUrl);
  try {
    return await createTenant(services, name, scopes);
  } finally {
    await services.close();
  }
}

async function createTenant(services, name, scopes) {
  const { OrganizationsService } = load('./auth/organizations/organizations.service.js');
  const { ApiKeysService } = load('./auth/keys/api-keys.service.js');
  const { DomainsService } = load('./modules/domains/domains.service.js');
  const { id: organizationId } = await services.get(OrganizationsService).create(name);
  const domains = services.get(DomainsService);
  const domain = await domains.add(organizationId, `${name}.test`);
  await domains.markVerified(organizationId, domain.id);
  const wanted = { name, mode: 'live', scopes };
  const { key } = await services.get(ApiKeysService).create(organizationId, wanted);
  return { organizationId, key, domain: { id: domain.id, name: domain.domain } };
}
