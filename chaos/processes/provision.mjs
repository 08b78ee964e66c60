const SCOPES = ['email:send', 'email:read', 'webhook:manage', 'webhook:read'];

/**
 * Migrates the schema and makes the tenants, with a release's own services: `{organizationId, domain, key}` each.
 * @param load of the release, by the name of a file
 */
export async function provision({ environment, databaseUrl, load }, count) {
  const { loadConfig } = load('load-config.js');
  const { openDatabase } = load('open-database.js');
  // Up to 0.2.0 it is in the session's file.
  const { createServices = load('services.js').createServices } = load('cli-session.js');
  const config = loadConfig(environment);
  await (await openDatabase(config, { log: () => undefined, migrate: true })).stop();
  const services = await createServices(config, databaseUrl);
  try {
    const tenants = [];
    for (let index = 0; index < count; index += 1) tenants.push(await createTenant(services, index, load));
    return tenants;
  } finally {
    await services.close();
  }
}

async function createTenant(services, index, load) {
  const { OrganizationsService } = load('organizations.service.js');
  const { ApiKeysService } = load('api-keys.service.js');
  const { DomainsService } = load('domains.service.js');
  const { id: organizationId } = await services.get(OrganizationsService).create(`Tenant ${index}`);
  const domains = services.get(DomainsService);
  const domain = `tenant-${index}.test`;
  const { id } = await domains.add(organizationId, domain);
  await domains.markVerified(organizationId, id);
  const wanted = { name: 'chaos', mode: 'live', scopes: SCOPES };
  const { key } = await services.get(ApiKeysService).create(organizationId, wanted);
  return { organizationId, domain, key };
}
