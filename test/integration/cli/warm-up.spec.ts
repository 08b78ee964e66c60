import { newId } from '../../../src/common/ids';
import { query } from '../embedded/support';
import { CliKit } from './cli-kit';

let cli: CliKit;
let org: string;
beforeAll(async () => {
  cli = await CliKit.createWarm();
  org = (await cli.json('org', 'create', 'Warm-up')).id;
});
afterAll(() => cli.destroy());

describe('waybill domain', () => {
  const add = async (name: string, status: string): Promise<string> => {
    const { id } = await cli.json('domain', 'add', org, name);
    await query(
      cli.url,
      `update domains set warming_status = '${status}', warming_started_at = now(),
         warming_paused_at = now(), warming_pause_reason = 'bounces' where id = '${id}'`,
    );
    return id as string;
  };
  const history = async (id: string) =>
    query(cli.url, `select actor, action from audit_log where target_id = '${id}' and action ~ 'warm' order by id`);

  it.each([
    ['resume-warming', 'paused', 'warming', 'domain.warming_resumed'],
    ['mark-warmed', 'paused', 'warmed', 'domain.warmed'],
    ['mark-warmed', 'not_started', 'warmed', 'domain.warmed'],
    ['restart-warming', 'warmed', 'not_started', 'domain.warming_restarted'],
    ['restart-warming', 'paused', 'not_started', 'domain.warming_restarted'],
  ])('%s takes a domain from %s to %s, and writes it down', async (command, from, to, action) => {
    const domain = `${command}-${from.replace('_', '')}.example.com`;
    const id = await add(domain, from);
    expect(await cli.json('domain', command, id)).toEqual({ id, domain, warming_status: to });
    expect(
      await query(cli.url, `select warming_paused_at, warming_pause_reason from domains where id = '${id}'`),
    ).toEqual([{ warming_paused_at: null, warming_pause_reason: null }]);
    expect(await history(id)).toEqual([{ actor: 'operator', action }]);
    expect(await cli.json('domain', command, id)).toEqual({ id, domain, warming_status: to });
    expect(await history(id)).toHaveLength(1);
  });

  it('resumes only paused domains', async () => {
    const id = await add('fine.example.com', 'warmed');
    expect(await cli.json('domain', 'resume-warming', id)).toMatchObject({ warming_status: 'warmed' });
    expect((await cli.run('domain', 'resume-warming', id)).stdout).toMatch(/warming_status +warmed/);
  });

  it.each(['resume-warming', 'mark-warmed', 'restart-warming'])('%s reports an unknown domain', async (command) => {
    expect(await cli.failure('domain', command, newId())).toEqual({
      code: 'resource_not_found',
      message: 'Domain not found',
    });
    expect(await cli.failure('domain', command, 'acme.example')).toMatchObject({ code: 'invalid_request' });
  });
});
