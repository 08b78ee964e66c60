import { existsSync } from 'node:fs';
import { open, readFile, rename } from 'node:fs/promises';
import path from 'node:path';
import type { INestApplicationContext } from '@nestjs/common';
import { SYSTEM } from '../audit/audit.service';
import { ApiKeysService } from '../auth/keys/api-keys.service';
import { OrganizationsService } from '../auth/organizations/organizations.service';
import { ALL_SCOPES } from '../common/http/scopes';
import { NotFoundError } from '../common/errors/app-error';
import type { Mode } from '../common/tenant';
import type { AppConfig } from '../config/config';
import { keepPrivate } from '../config/data-dir';
import { withAdvisoryLock } from '../database/start/migrate';
import { DatabaseUrl } from '../database/pool/database.service';
import { DomainsService } from '../modules/domains/domains.service';
import { DomainVerificationService } from '../modules/domains/verification/domain-verification.service';

/** What the first start creates: everything that is needed to send the first mail. */
export interface Credentials {
  readonly organizationId: string;
  readonly domain: string;
  readonly liveKey: string;
  readonly testKey: string;
}

const NAMES = ['organizationId', 'domain', 'liveKey', 'testKey'] as const;

type Services = Pick<INestApplicationContext, 'get'>;

const ORGANIZATION = 'default';
/** The TLD `.test` is reserved (RFC 2606). */
const DOMAIN = 'waybill.test';
/** Key of an advisory lock, an arbitrary constant: two processes that start at once must not seed at once. */
const SEED_LOCK = 7_241_920_046;

/**
 * Prepares an empty embedded database for a first mail: an organization, a verified domain and two keys with every
 * scope, kept in `credentials.json`. Later starts return the content of that file.
 *
 * Each step checks whether it has been done, so the next start completes one that crashed in between. Only the keys are
 * created again then: the earlier ones were never shown.
 *
 * @returns undefined when nothing is to be seeded: an external database, or one with other organizations.
 */
export async function seedFirstStart(services: Services, config: AppConfig): Promise<Credentials | undefined> {
  if (config.database.url !== undefined) return undefined;
  const known = await findKnown(services, config.dataDir);
  if (known) return known;
  return withAdvisoryLock(services.get(DatabaseUrl).direct, SEED_LOCK, async () => {
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
  await ensureDomain(services, organizationId);
  const credentials = {
    organizationId,
    domain: DOMAIN,
    liveKey: await createKey(services, organizationId, 'live'),
    testKey: await createKey(services, organizationId, 'test'),
  };
  await writeCredentials(dataDir, credentials);
  return credentials;
}

/** Whether an earlier start has seeded this data directory. */
export function isSeeded(dataDir: string): boolean {
  return existsSync(credentialsFile(dataDir));
}

/** The id of the seeded organization; undefined when there are organizations, but not this one. */
async function ensureOrganization(organizations: OrganizationsService): Promise<string | undefined> {
  const existing = await organizations.list();
  if (existing.length === 0) return (await organizations.create(ORGANIZATION)).id;
  return existing.find(({ name }) => name === ORGANIZATION)?.id;
}

async function ensureDomain(services: Services, organizationId: string): Promise<void> {
  const domains = services.get(DomainsService);
  const domain = (await domains.findForSending(organizationId, DOMAIN)) ?? (await domains.add(organizationId, DOMAIN));
  if (domain.verificationStatus !== 'verified') await domains.markVerified(organizationId, domain.id);
  // Sets the status of its DNS records to match that of the domain.
  await services.get(DomainVerificationService).verifyNow(organizationId, domain.id, SYSTEM);
}

async function createKey(services: Services, organizationId: string, mode: Mode): Promise<string> {
  const wanted = { name: `first start, ${mode}`, mode, scopes: ALL_SCOPES };
  return (await services.get(ApiKeysService).create(organizationId, wanted)).key;
}

function credentialsFile(dataDir: string): string {
  return path.join(dataDir, 'credentials.json');
}

/** Undefined when the file is missing or not valid. @throws Error when it cannot be read */
async function readCredentials(dataDir: string): Promise<Credentials | undefined> {
  let text: string;
  keepPrivate(credentialsFile(dataDir));
  try {
    text = await readFile(credentialsFile(dataDir), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  return parse(text);
}

function parse(text: string): Credentials | undefined {
  try {
    const found = JSON.parse(text) as Partial<Record<keyof Credentials, unknown>> | null;
    return NAMES.every((name) => typeof found?.[name] === 'string') ? (found as Credentials) : undefined;
  } catch {
    return undefined;
  }
}

/** Writes the file completely or not at all, readable by its owner only. One caller at a time. */
async function writeCredentials(dataDir: string, credentials: Credentials): Promise<void> {
  const target = credentialsFile(dataDir);
  const temporary = `${target}.tmp`;
  const file = await open(temporary, 'w', 0o600);
  try {
    await file.chmod(0o600);
    await file.writeFile(`${JSON.stringify(credentials, null, 2)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, target);
}

/**
 * A shell command that sends a first mail. It reads the live key from `credentials.json`, because printed output ends up in
 * logs and recordings.
 */
export function curlCommand({ domain }: Pick<Credentials, 'domain'>, dataDir: string, port: number): string {
  const mail = {
    from: `hello@${domain}`,
    to: ['you@example.com'],
    subject: 'Hello from Waybill',
    text: 'It works.',
  };
  const readKey = ['node', '-p', 'require(process.argv[1]).liveKey', credentialsFile(path.resolve(dataDir))];
  const authorization = `"Authorization: Bearer $(${readKey.map(shellQuote).join(' ')})"`;
  const words = ['curl', '-sS', `http://localhost:${port}/v1/emails`, '-H', authorization];
  return [...words, '-H', "'Content-Type: application/json'", '-d', shellQuote(JSON.stringify(mail))].join(' ');
}

/** Quotes any text as one argument for a POSIX shell. */
export function shellQuote(text: string): string {
  if (/^[\w@%+=:,./-]+$/.test(text)) return text;
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
