import { Client } from 'pg';
import { MONTHLY_TABLES } from '../../../src/modules/emails/retention/months';
import { FAKE_CITUS } from '../../doubles/fake-citus';
import { query } from '../embedded/support';
import { CliKit } from './cli-kit';

describe('waybill cluster', () => {
  let cli: CliKit;
  beforeEach(async () => (cli = await CliKit.create()));
  afterEach(() => cli.destroy());

  const calls = async () =>
    (await query<{ call: string }>(cli.url, 'select call from citus_calls order by place')).map(({ call }) => call);
  /** The real extension's settings are everybody's; names without a definition are a superuser's to give away. */
  async function allowSettings(): Promise<void> {
    const superuser = new URL(cli.url);
    superuser.username = 'postgres';
    await query(
      superuser.toString(),
      'grant set on parameter citus.max_adaptive_executor_pool_size, citus.multi_shard_modify_mode to waybill',
    );
  }
  /** With a worker node. */
  const installExtension = () => query(cli.url, `${FAKE_CITUS}; insert into pg_dist_node values ('worker-1')`);

  it.each(['plan', 'apply'])('%s refuses a database without the extension, and says what to do', async (command) => {
    const { message } = await cli.failure('cluster', command);
    expect(message).toMatch(
      /^The database does not have the extension citus: install Citus .*`create extension citus`/,
    );
  });

  it('plan prints the settings and statements, and changes nothing', async () => {
    await installExtension();
    const { nodes, tables, hindrances, steps } = await cli.json('cluster', 'plan', '--shards', '48');
    expect({ nodes, hindrances }).toEqual({ nodes: 1, hindrances: [] });
    expect(
      tables.map(({ table, distributed }: { table: string; distributed: boolean }) => [table, distributed]),
    ).toEqual(MONTHLY_TABLES.map((table) => [table, false]));
    const sql = steps.map((step: { sql: string }) => step.sql).join('\n');
    expect(sql).toContain(`set citus.max_adaptive_executor_pool_size = '1'`);
    expect(sql).toContain(`set citus.multi_shard_modify_mode = 'sequential'`);
    expect(sql).toContain(`create_distributed_table('emails', 'organization_id', shard_count => 48)`);
    expect(sql).toContain(`create_distributed_table('email_events', 'organization_id', colocate_with => 'emails')`);
    expect(await calls()).toEqual([]);
    expect((await cli.run('cluster', 'plan')).stdout).toContain('-- its rows move to the nodes');
  });

  it('apply carries it out, and the second time only sets what is set', async () => {
    await installExtension();
    await allowSettings();
    const first = await cli.json('cluster', 'apply');
    const [security] = await query(
      cli.url,
      `select count(*) filter (where relrowsecurity)::int as tables, bool_or(relacl::text like '%\\_tenant=%') as "isGranted",
         (select relacl::text like '%\\_tenant=%' from pg_class where oid = 'domains'::regclass) as "isGrantedElsewhere"
       from pg_class where oid in ('emails'::regclass, 'email_events'::regclass)`,
    );
    expect(security).toEqual({ tables: 0, isGranted: false, isGrantedElsewhere: true });
    expect(first.tables.every(({ distributed }: { distributed: boolean }) => distributed)).toBe(true);
    const made = await calls();
    expect(made.filter((call) => call.includes(' by '))).toEqual(
      MONTHLY_TABLES.map((table) =>
        table === 'emails'
          ? 'emails by organization_id beside default, 32, empty: t'
          : `${table} by organization_id beside emails, , empty: t`,
      ),
    );
    expect(made.filter((call) => call.startsWith('truncate'))).toEqual(
      MONTHLY_TABLES.map((table) => `truncate ${table}`),
    );
    expect(made.filter((call) => /alter database .* set enable_hashjoin = 'off'/.test(call))).toHaveLength(1);
    const [setting] = await query<{ setconfig: string[] }>(
      cli.url,
      `select setconfig from pg_db_role_setting where setdatabase = (select oid from pg_database where datname = current_database())`,
    );
    expect(setting?.setconfig).toEqual([
      'citus.max_adaptive_executor_pool_size=1',
      'citus.multi_shard_modify_mode=sequential',
    ]);
    const again = await cli.json('cluster', 'apply');
    expect(again.steps.filter(({ sql }: { sql: string }) => sql.includes('create_distributed_table'))).toEqual([]);
  });

  it('apply refuses while the service runs, without nodes, and what the nodes would not carry', async () => {
    await query(cli.url, FAKE_CITUS);
    expect((await cli.failure('cluster', 'apply')).message).toContain('select citus_add_node(host, port)');
    await query(
      cli.url,
      `insert into pg_dist_node values ('worker-1');
       create function nothing() returns trigger language plpgsql as 'begin return new; end';
       create trigger watch before insert on emails for each row execute function nothing();
       alter table email_events add column counted bigserial;
       create policy own on email_contents using (organization_id in (select id from organizations))`,
    );
    const { message } = await cli.failure('cluster', 'apply');
    expect(message).toContain('emails cannot be distributed because of the trigger watch: remove it first');
    expect(message).toContain(
      'email_events cannot be distributed because of numbers that the database gives to counted',
    );
    expect(message).toContain('email_contents cannot be distributed because of the policy own, which contains a query');
    await query(
      cli.url,
      `drop trigger watch on emails; alter table email_events drop column counted; drop policy own on email_contents`,
    );
    const service = new Client({ connectionString: cli.url, application_name: 'waybill-api' });
    await service.connect();
    try {
      expect((await cli.failure('cluster', 'apply')).message).toContain('Stop all its processes, then distribute');
    } finally {
      await service.end();
    }
    expect((await calls()).filter((call) => call.includes(' by '))).toEqual([]);
  });
});
