import { escapeLiteral, type PoolClient } from 'pg';
import { beginWith, planningOf } from '../../src/database/pool/data-source';
import type { Statement } from '../../src/database/statements/statement';
import { TextArray } from '../../src/database/statements/pg-array';

/** One node of a plan, with the names of `explain (format json)`. */
export interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Index Cond'?: string;
  'Recheck Cond'?: string;
  'Actual Loops'?: number;
  'Actual Rows'?: number;
  'Rows Removed by Filter'?: number;
  Plans?: PlanNode[];
}

/** Postgres plans for the values of the first five executions each, and then once for all values if that looks no dearer. */
const PLANS = ['force_custom_plan', 'force_generic_plan'] as const;

/** The nodes of both plans that a statement can get, for its values and for any: see `explainPrepared`. */
export async function explainBoth(...args: Parameters<typeof explainPrepared>): Promise<PlanNode[]> {
  return (await explainEach(...args)).flat();
}

/** The two plans that a statement can get. */
export async function explainEach(
  client: PoolClient,
  statement: Statement<unknown>,
  tenants?: readonly string[],
): Promise<PlanNode[][]> {
  const plans: PlanNode[][] = [];
  for (const plan of PLANS) {
    await client.query(`set plan_cache_mode = ${plan}`);
    try {
      plans.push(await explainPrepared(client, statement, tenants));
    } finally {
      await client.query('reset plan_cache_mode');
    }
  }
  return plans;
}

/**
 * The plan of a prepared statement that the connection makes by itself, with the actual figures of one execution, which is rolled back. The statement is
 * prepared first if it is not yet prepared on the connection.
 * @param tenants as a request of these organizations sends it, under row-level security
 */
export async function explainPrepared(
  client: PoolClient,
  statement: Statement<unknown>,
  tenants?: readonly string[],
): Promise<PlanNode[]> {
  const name = tenants ? `${statement.name}@tenant` : statement.name;
  const known = await client.query('select from pg_prepared_statements where name = $1', [name]);
  if (known.rows.length === 0) await client.query(`prepare "${name}" as ${statement.text}`);
  const values = statement.values.map(literal).join(', ');
  await client.query(beginWith('', tenants && (await restrictionTo(client, tenants)), planningOf([statement])));
  try {
    const call = statement.values.length > 0 ? `"${name}"(${values})` : `"${name}"`;
    const { rows } = await client.query(`explain (analyze, costs off, timing off, format json) execute ${call}`);
    return flatten((rows[0] as { 'QUERY PLAN': [{ Plan: PlanNode }] })['QUERY PLAN'][0].Plan);
  } finally {
    await client.query('rollback');
  }
}

/** What puts a transaction into the scope of these organizations. */
export async function restrictionTo(client: PoolClient, tenants: readonly string[]): Promise<string> {
  const { rows } = await client.query<{ role: string }>(
    `select quote_ident(pg_get_userbyid(relowner) || '_tenant') as role from pg_class where relname = 'organizations'`,
  );
  return `set local role ${rows[0]?.role}; set local waybill.organizations = '{${tenants.join(',')}}'`;
}

function flatten(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(flatten)];
}

function literal(value: unknown): string {
  return value === null || value === undefined ? 'null' : escapeLiteral(textOf(value));
}

function textOf(value: unknown): string {
  if (value instanceof Date) return value.toISOString();
  if (Buffer.isBuffer(value)) return `\\x${value.toString('hex')}`;
  if (value instanceof TextArray) return textOf(value.values);
  if (!Array.isArray(value)) return String(value);
  const elements = value.map((element) => {
    if (element === null || element === undefined) return 'null';
    return `"${textOf(element).replace(/["\\]/g, '\\$&')}"`;
  });
  return `{${elements.join(',')}}`;
}
