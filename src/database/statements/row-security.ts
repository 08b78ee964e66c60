import type { QueryRunner } from 'typeorm';
import { databaseErrorCode, unlessCode } from './database-errors';

/** Whether the database itself limits the statements of requests to their tenant. */
export type RowSecurity =
  | { readonly state: 'on'; /** Quoted. */ readonly role: string }
  | { readonly state: 'off' }
  | { readonly state: 'unavailable'; /** Including what to do. */ readonly reason: string };

/** insufficient_privilege */
const REFUSED = '42501';
/** lock_not_available */
const LOCKED = '55P03';
/** duplicate_object, unique_violation: another database of the server created it first. */
const ALREADY_THERE = ['42710', '23505'];

/** Every table with rows of one organization. Partitions are reached through their parents only. */
const TENANT_TABLES = `
  select c.oid, c.relname, c.relrowsecurity,
    case c.relname when 'organizations' then 'id' else 'organization_id' end as tenant_column
  from pg_class c
  where c.relkind in ('r', 'p') and not c.relispartition and c.relnamespace = current_schema()::regnamespace
    and (c.relname = 'organizations' or exists (
      select from pg_attribute a where a.attrelid = c.oid and a.attname = 'organization_id' and not a.attisdropped
    ))`;

/** By the owner of the tables: two installations in one server must not share a role. */
const ROLE = `
  select role as name, quote_ident(role) as role, quote_ident(owner) as owner, current_user::text as "user",
    exists (select from pg_roles where rolname = role) as "isThere",
    coalesce((select pg_has_role(owner, r.oid, 'member') from pg_roles r where rolname = role), false) as "isGranted"
  from pg_class c
  cross join lateral (select pg_get_userbyid(c.relowner)::text as owner) o
  cross join lateral (select left(owner, 56) || '_tenant' as role) r
  where c.oid = to_regclass('organizations')`;

interface TenantRole {
  readonly name: string;
  /** Quoted, as the owner. */
  readonly role: string;
  readonly owner: string;
  readonly user: string;
  readonly isThere: boolean;
  readonly isGranted: boolean;
}

const UNPROTECTED = `
  select quote_ident(relname) as "table", quote_ident(tenant_column) as "column"
  from (${TENANT_TABLES}) t
  where not relrowsecurity or not exists (select from pg_policy p where p.polrelid = t.oid and p.polname = 'tenant')
  order by relname`;

const UNGRANTED = `
  select quote_ident(relname) as "table", wanted.privileges
  from (${TENANT_TABLES}) t
  cross join lateral (
    select case relname when 'organizations' then 'select' else 'select, insert, update, delete' end as privileges
  ) wanted
  where not (select bool_and(has_table_privilege($1, t.oid, p)) from unnest(string_to_array(wanted.privileges, ', ')) p)
  order by relname`;

/**
 * Gives every table with rows of one organization its policy, and the role `<owner>_tenant` the rights of a request.
 * Runs after each migration, so that new tables are covered. Changes nothing where the role cannot be created; a table
 * that stays locked waits for the next start, which `examineRowSecurity` reports.
 * @param runner not in a transaction, as the owner of the tables
 */
export async function applyRowSecurity(runner: QueryRunner): Promise<void> {
  if (await isDistributed(runner)) return;
  const tenant = await ensureRole(runner);
  if (!tenant) return;
  const { name, role } = tenant;
  const unprotected = (await runner.query(UNPROTECTED)) as { table: string; column: string }[];
  for (const { table, column } of unprotected) await unlessCode(LOCKED, runner.query(policyOf(table, column)));
  const ungranted = (await runner.query(UNGRANTED, [name])) as { table: string; privileges: string }[];
  for (const { table, privileges } of ungranted) await runner.query(`grant ${privileges} on ${table} to ${role}`);
  await runner.query(GRANT_SCHEMA.replaceAll(':role', role));
}

/**
 * The list of organizations is a sub-select, so that it is read once per statement, not per row. Inside `case` it is no
 * index condition: as one it competed with those of the query, and a look-up of 50 addresses read all 18,000 of its
 * tenant. Several statements of one call are one transaction.
 */
function policyOf(table: string, column: string): string {
  return `
    set local lock_timeout = '4s';
    alter table ${table} enable row level security;
    drop policy if exists tenant on ${table};
    create policy tenant on ${table} using (
      case when ${column} = any ((select nullif(current_setting('waybill.organizations', true), '')::uuid[])::uuid[])
        then true else false end
    )`;
}

const GRANT_SCHEMA = `
  do $do$ begin
    if not has_schema_privilege(':role', current_schema(), 'usage') then
      execute format('grant usage on schema %I to :role', current_schema());
    end if;
  end $do$`;

/** Undefined when the role does not exist and this user may not create it. */
async function ensureRole(runner: QueryRunner): Promise<TenantRole | undefined> {
  const [found] = (await runner.query(ROLE)) as TenantRole[];
  if (!found) return undefined;
  const { role, owner, isThere, isGranted } = found;
  try {
    if (!isThere) await unlessCode(ALREADY_THERE, runner.query(`create role ${role} nologin`));
    if (!isGranted) await runner.query(`grant ${role} to ${owner}`);
    return found;
  } catch (error) {
    if (databaseErrorCode(error) === REFUSED) return undefined;
    throw error;
  }
}

/**
 * Nodes of a distributed database have neither the role, which cannot log in, nor policies with a query (docs/scaling.md). The
 * function exists once the schema is up to date; naming a missing one fails even in a branch not taken.
 */
const CAN_TELL = `select to_regproc('is_distributed') is not null as yes`;
const IS_DISTRIBUTED = `select is_distributed(to_regclass('emails')) as yes`;

async function isDistributed(runner: QueryRunner): Promise<boolean> {
  const isYes = async (query: string): Promise<boolean> => {
    const [row] = (await runner.query(query)) as { yes: boolean | null }[];
    return row?.yes ?? false;
  };
  return (await isYes(CAN_TELL)) && (await isYes(IS_DISTRIBUTED));
}

/** Checks as the role of requests that each table is restricted. @param runner is released */
export async function examineRowSecurity(runner: QueryRunner): Promise<RowSecurity> {
  try {
    if (await isDistributed(runner)) {
      return unavailable('the large tables are distributed over nodes, which cannot hold it');
    }
    const [found] = (await runner.query(ROLE)) as TenantRole[];
    if (!found) return unavailable('the schema is not up to date: run waybill migrate');
    const { role, owner, user } = found;
    const remedy = `as an administrator: create role ${role} nologin; grant ${role} to ${owner}; then run waybill migrate`;
    if (!found.isThere) return unavailable(`the role ${role} is missing, and ${user} may not create it; ${remedy}`);
    if (await isHiddenFrom(runner)) {
      return unavailable(`${user} is not the owner of the tables and sees none of their rows`);
    }
    return await tryAs(runner, role);
  } finally {
    await runner.release();
  }
}

async function isHiddenFrom(runner: QueryRunner): Promise<boolean> {
  const [row] = (await runner.query(`select row_security_active('organizations') as hidden`)) as { hidden: boolean }[];
  return row?.hidden ?? false;
}

async function tryAs(runner: QueryRunner, role: string): Promise<RowSecurity> {
  await runner.startTransaction();
  try {
    await runner.query(`set local role ${role}`);
    const open = (await runner.query(
      `select relname as "table" from (${TENANT_TABLES}) t where not row_security_active(t.oid)`,
    )) as { table: string }[];
    if (open.length === 0) return { state: 'on', role };
    return unavailable(`${open.map(({ table }) => table).join(', ')} are not restricted: run waybill migrate`);
  } catch (error) {
    if (databaseErrorCode(error) !== REFUSED) throw error;
    return unavailable(`the role ${role} may not be taken: ${(error as Error).message}`);
  } finally {
    await runner.rollbackTransaction();
  }
}

function unavailable(reason: string): RowSecurity {
  return { state: 'unavailable', reason };
}
