import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { isHostName } from '../../common/dns/dns-resolver';
import { isUuid } from '../../common/ids';
import { ConfigurationError } from '../../config/load-config';
import type { MailCategory } from '../ports/delivery';
import { isRecord } from '../../common/values';

/** One address of this machine that mail may leave from. */
export interface EgressAddress {
  readonly address: string;
  /** The host name in EHLO. */
  readonly ehlo: string;
  /** False: receivers know the address, so it needs no warm-up. */
  readonly warmUp?: false;
}

/** Addresses for some mail: that of organizations, or of a category. */
export interface EgressPool {
  readonly name: string;
  readonly addresses: readonly EgressAddress[];
  readonly organizations: readonly string[];
  readonly category?: MailCategory;
}

const POOL_FIELDS = ['name', 'addresses', 'organizations', 'category'];
const ADDRESS_FIELDS = ['address', 'ehlo', 'warmUp'];
const CATEGORIES: readonly MailCategory[] = ['transactional', 'bulk'];
/** The system's choice has that name, as a pool and as its one address. */
export const DEFAULT_POOL = 'default';

/** Read from an operator's file. @throws ConfigurationError that names the file, and what is wrong in it */
export function readEgressPools(path: string): EgressPool[] {
  try {
    return parseEgressPools(JSON.parse(readFileSync(path, 'utf8')));
  } catch (error) {
    throw new ConfigurationError([`EGRESS_POOLS ${path}: ${(error as Error).message}`]);
  }
}

/** @throws Error that names the pool that is wrong */
export function parseEgressPools(json: unknown): EgressPool[] {
  if (!Array.isArray(json)) throw new Error('must be an array of pools');
  const pools = json.map((pool: unknown, index) => inPool(pool, index));
  refuseRepeats(
    pools.map(({ name }) => name),
    'the name',
  );
  refuseRepeats(
    pools.flatMap(({ organizations }) => organizations),
    'the organization',
  );
  refuseRepeats(
    pools.flatMap(({ category }) => category ?? []),
    'the category',
  );
  refuseRepeats(
    pools.flatMap(({ addresses }) => addresses.map(({ address }) => address)),
    'the address',
  );
  return pools;
}

function inPool(pool: unknown, index: number): EgressPool {
  const name = isRecord(pool) && typeof pool.name === 'string' ? `pool "${pool.name}"` : `pool ${index + 1}`;
  try {
    return readPool(pool);
  } catch (error) {
    throw new Error(`${name}: ${(error as Error).message}`);
  }
}

function readPool(pool: unknown): EgressPool {
  const { name, addresses, organizations = [], category } = withFields(pool, POOL_FIELDS);
  if (typeof name !== 'string' || !/^[\w.-]{1,64}$/.test(name)) {
    throw new Error('name must be 1 to 64 letters, digits, dots, hyphens or underscores');
  }
  if (name === DEFAULT_POOL) throw new Error(`${DEFAULT_POOL} is the name of the system's choice`);
  if (!Array.isArray(addresses) || addresses.length === 0) {
    throw new Error('addresses must be an array, not an empty one');
  }
  if (category !== undefined && !CATEGORIES.some((one) => one === category)) {
    throw new Error(`category must be ${CATEGORIES.join(' or ')}`);
  }
  return {
    name,
    addresses: addresses.map(readAddress),
    organizations: readOrganizations(organizations),
    ...(category !== undefined && { category: category as MailCategory }),
  };
}

function readAddress(given: unknown): EgressAddress {
  const { address, ehlo, warmUp = true } = withFields(given, ADDRESS_FIELDS);
  if (typeof address !== 'string' || isIP(address) === 0) throw new Error(`${String(address)} is no IP address`);
  if (typeof ehlo !== 'string' || !isHostName(ehlo)) throw new Error(`the ehlo of ${address} must be a host name`);
  if (typeof warmUp !== 'boolean') throw new Error(`the warmUp of ${address} must be true or false`);
  return { address, ehlo: ehlo.toLowerCase(), ...(!warmUp && { warmUp: false }) };
}

function readOrganizations(given: unknown): string[] {
  const isList = Array.isArray(given) && given.every((id) => typeof id === 'string' && isUuid(id));
  if (!isList) throw new Error('organizations must be an array of ids');
  return (given as string[]).map((id) => id.toLowerCase());
}

function withFields(value: unknown, fields: readonly string[]): Record<string, unknown> {
  if (!isRecord(value)) throw new Error('must be an object');
  const unknown = Object.keys(value).find((field) => !fields.includes(field));
  if (unknown !== undefined) throw new Error(`unknown field ${unknown}; known are ${fields.join(', ')}`);
  return value;
}

function refuseRepeats(values: readonly string[], what: string): void {
  const repeated = values.find((value, index) => values.indexOf(value) !== index);
  if (repeated !== undefined) throw new Error(`${what} ${repeated} is there twice`);
}
