import type { Client } from 'pg';

/** One of the tables to distribute. */
export interface TableState {
  readonly table: string;
  readonly distributed: boolean;
  /** With its partitions, indexes and TOAST, over all nodes. */
  readonly bytes: number;
  /** The role of requests (docs/adr/0023), quoted, if it has rights on the table; null where it has none. */
  readonly tenantRole: string | null;
  /** What the extension does not carry to the nodes, in words; as a rule nothing. */
  readonly obstacles: readonly string[];
}

export interface ClusterState {
  /** Undefined: the database does not have the extension. */
  readonly extension: string | undefined;
  /** Nodes that may hold rows. */
  readonly nodes: number;
  /** Sessions of this service beside this one. */
  readonly sessions: number;
  readonly database: string;
  readonly tables: readonly TableState[];
}

/** Asks for the catalogue of the extension, not for its name among the installed ones: that is what is used. */
const EXTENSION = `
  select current_database() as database,
    case when to_regclass('pg_dist_node') is not null then
      coalesce((select extversion from pg_extension where extname = 'citus'), 'unknown')
    end as extension,
    (
      select count(*)::int from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and application_name like 'waybill%'
        and application_name <> 'waybill-keeper'
    ) as sessions`;

const NODES = `select count(*)::int as nodes from pg_dist_node where shouldhaveshards and isactive and noderole = 'primary'`;

/** Of row-level security (docs/adr/0023): `cluster apply` takes it away from the tables that it distributes. */
export const TENANT_POLICY = 'tenant';

/** Keys to other tables, triggers, identities and sequences, unique indexes without the organization, policies that look elsewhere. */
const TABLES = `
  select
    t.name as table,
    is_distributed(t.name::regclass) as distributed,
    coalesce((
      select sum(stored_bytes(i.inhrelid)) from pg_inherits i where i.inhparent = t.name::regclass
    ), 0)::float8 as bytes,
    (
      select quote_ident(r.rolname)
      from pg_class c
      cross join lateral aclexplode(c.relacl) a
      join pg_roles r on r.oid = a.grantee and r.rolname = left(pg_get_userbyid(c.relowner), 56) || '_tenant'
      where c.oid = t.name::regclass
      limit 1
    ) as "tenantRole",
    array(
      select 'the foreign key ' || conname from pg_constraint
      where contype = 'f' and conparentid = 0 and t.name::regclass in (conrelid, confrelid)
      union all
      select 'the trigger ' || tgname from pg_trigger where tgrelid = t.name::regclass and not tgisinternal
      union all
      select 'numbers that the database gives to ' || attname from pg_attribute
      where attrelid = t.name::regclass and attnum > 0 and not attisdropped
        and (attidentity <> '' or pg_get_serial_sequence(t.name, attname) is not null)
      union all
      select 'the unique index ' || x.indexrelid::regclass || ', which leaves organization_id out' from pg_index x
      where x.indrelid = t.name::regclass and x.indisunique and not exists (
        select 1 from pg_attribute a
        where a.attrelid = x.indrelid and a.attnum = any (x.indkey) and a.attname = 'organization_id'
      )
      union all
      select 'the policy ' || polname || ', which contains a query' from pg_policy
      where polrelid = t.name::regclass and polname <> '${TENANT_POLICY}'
        and concat(pg_get_expr(polqual, polrelid), pg_get_expr(polwithcheck, polrelid)) ~* '\\mselect\\M'
    ) as obstacles
  from unnest($1::text[]) with ordinality as t (name, place)
  order by t.place`;

/** @param tables in the order in which they are to be distributed; the schema is up to date */
export async function readClusterState(client: Client, tables: readonly string[]): Promise<ClusterState> {
  const { rows } = await client.query<
    Omit<ClusterState, 'nodes' | 'tables' | 'extension'> & { extension: string | null }
  >(EXTENSION);
  const [{ database, sessions, extension } = { database: '', sessions: 0, extension: null }] = rows;
  const nodes = extension === null ? [] : (await client.query<{ nodes: number }>(NODES)).rows;
  const found = await client.query<TableState>(TABLES, [tables]);
  return { database, sessions, extension: extension ?? undefined, nodes: nodes[0]?.nodes ?? 0, tables: found.rows };
}
