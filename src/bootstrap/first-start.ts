import type { INestApplicationContext } from '@nestjs/common';
import { ApiKeysService } from '../auth/api-keys.service';
import { OrganizationsService } from '../auth/organizations.service';
import { ALL_SCOPES } from '../common/http/scopes';
import { NotFoundError } from '../common/errors/app-error';
import type { Mode } from '../common/tenant';
import type { AppConfig } from '../config/config';
import { withAdvisoryLock } from '../database/migrate';
import { DatabaseUrl } from '../database/database.service';
import { DomainsService } from '../modules/domains/domains.service';
import { type Credentials, readCredentials, writeCredentials } from './credentials';
import { shellQuote } from './shell-quote';

type Services = Pick<INestApplicationContext, 'get'>;

const ORGANIZATION = 'default';
/** `.test` (RFC 2606) can never belong to anybody. */
const DOMAIN = 'waybill.test';
/** Any fixed number: two processes that start at once must not seed at once. */
const SEED_LOCK = 7_241_920_046;

/**
 * Makes an empty embedded database ready for a first mail: an organization, a verified domain and two keys with every
 * scope, kept in `credentials.json`. Later starts answer what that file says.
 *
 * Each step finds out whether it has been done, so a start that died in between is completed by the next one. Only the
 * keys are made anew then: nobody has seen the earlier ones.
 *
 * @returns undefined when it is not for us to make anything: an external database, or one with other organizations.
 */
export async function seedFirstStart(services: Services, config: AppConfig): Promise<Credentials | undefined> {
  if (config.database.url !== undefined) return undefined;
  const known = await findKnown(services, config.dataDir);
  if (known) return known;
  return withAdvisoryLock(services.get(DatabaseUrl).url, SEED_LOCK, async () => {
    // Another process may have been faster.
    return (await findKnown(services, config.dataDir)) ?? (await seed(services, config.dataDir));
  });
}

/** The credentials in the file, unless they belong to another database. */
async function findKnown(services: Services, dataDir: string): Promise<Credentials | undefined> {
  const known = await readCredentials(dataDir);
  if (!known) return undefined;
  try {
    await services.get(OrganizationsService).get(known.organizationId);
    return known;
  } catch (error) {
    if (error instanceof NotFoundError) return undefined;
    throw error;
  }
}

async function seed(services: Services, dataDir: string): Promise<Credentials | undefined> {
  const organizationId = await ensureOrganization(services.get(OrganizationsService));
  if (organizationId === undefined) return undefined;
  await ensureDomain(services.get(DomainsService), organizationId);
  const credentials = {
    organizationId,
    domain: DOMAIN,
    liveKey: await createKey(services, organizationId, 'live'),
    testKey: await createKey(services, organizationId, 'test'),
  };
  await writeCredentials(dataDir, credentials);
  return credentials;
}

/** Its id; undefined when there are organizations, but not this one. */
async function ensureOrganization(organizations: OrganizationsService): Promise<string | undefined> {
  const existing = await organizations.list();
  if (existing.length === 0) return (await organizations.create(ORGANIZATION)).id;
  return existing.find(({ name }) => name === ORGANIZATION)?.id;
}

async function ensureDomain(domains: DomainsService, organizationId: string): Promise<void> {
  const domain = (await domains.findForSending(organizationId, DOMAIN)) ?? (await domains.add(organizationId, DOMAIN));
  if (domain.verificationStatus !== 'verified') await domains.markVerified(organizationId, domain.id);
}

async function createKey(services: Services, organizationId: string, mode: Mode): Promise<string> {
  const wanted = { name: `first start, ${mode}`, mode, scopes: ALL_SCOPES };
  return (await services.get(ApiKeysService).create(organizationId, wanted)).key;
}

/** A command to copy and paste into a shell: sends a first mail. It contains the live key. */
export function curlCommand({ domain, liveKey }: Credentials, port: number): string {
  const mail = {
    from: `hello@${domain}`,
    to: ['you@example.com'],
    subject: 'Hello from Waybill',
    text: 'It works.',
  };
  const words = ['curl', '-sS', `http://localhost:${port}/v1/emails`];
  words.push('-H', `Authorization: Bearer ${liveKey}`, '-H', 'Content-Type: application/json');
  return [...words, '-d', JSON.stringify(mail)].map(shellQuote).join(' ');
}
