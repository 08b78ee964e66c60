import { newId } from '../../../src/common/ids';
import { query } from '../embedded/support';
import { CliKit } from './cli-kit';

let cli: CliKit;
let org: string;
beforeAll(async () => {
  cli = await CliKit.createWarm();
  org = (await cli.json('org', 'create', 'Restrictions')).id;
});
afterAll(() => cli.destroy());

describe('waybill domain', () => {
  const add = async (domain: string): Promise<string> => (await cli.json('domain', 'add', org, domain)).id as string;
  const history = (id: string) =>
    query(
      cli.url,
      `select actor, action, data from audit_log where target_id = '${id}' and action ~ 'send' order by id`,
    );
  const sendingCheck = async () =>
    (await cli.json('doctor')).checks.find(({ name }: { name: string }) => name === 'sending');

  it('pauses, lists and resumes the sending of a domain, and writes it down once', async () => {
    const id = await add('paused.example.com');
    const shown = { id, domain: 'paused.example.com' };
    const paused = { ...shown, sending_status: 'paused', sending_status_reason: 'operator' };
    for (let times = 0; times < 2; times += 1) {
      expect(await cli.json('domain', 'pause-sending', id, '--reason', ' a bought list ')).toEqual(paused);
    }
    expect(await cli.json('domain', 'list-restricted')).toEqual([
      { organization_id: org, ...paused, since: expect.any(String), note: 'a bought list' },
    ]);
    const [{ since }] = await cli.json('domain', 'list-restricted');
    expect(await cli.json('domain', 'pause-sending', id, '--reason', 'its list')).toEqual(paused);
    expect(await cli.json('domain', 'list-restricted')).toEqual([
      { organization_id: org, ...paused, since, note: 'its list' },
    ]);
    expect(await sendingCheck()).toMatchObject({ status: 'warning', details: { slowed: 0, paused: 1 } });
    const active = { ...shown, sending_status: 'active', sending_status_reason: null };
    for (let times = 0; times < 2; times += 1) expect(await cli.json('domain', 'resume-sending', id)).toEqual(active);
    expect(await cli.json('domain', 'list-restricted')).toEqual([]);
    expect(await sendingCheck()).toMatchObject({ status: 'ok' });
    expect(await history(id)).toEqual([
      {
        ...{ actor: 'operator', action: 'domain.sending_paused' },
        data: { reason: 'operator', note: 'a bought list' },
      },
      {
        ...{ actor: 'operator', action: 'domain.sending_paused' },
        data: { reason: 'operator', note: 'its list' },
      },
      { actor: 'operator', action: 'domain.sending_resumed', data: {} },
    ]);
  });

  it('makes a pause of its own the operator’s, which does not end by itself', async () => {
    const id = await add('slowed.example.com');
    await query(
      cli.url,
      `update domains set sending_status = 'slowed', sending_status_reason = 'bounces', sending_daily_limit = 100,
         sending_status_since = now() where id = '${id}'`,
    );
    expect(await cli.json('domain', 'pause-sending', id, '--reason', 'phishing')).toMatchObject({
      ...{ sending_status: 'paused', sending_status_reason: 'operator' },
    });
  });

  it('refuses unknown ids, and wants a reason', async () => {
    const missing = { code: 'resource_not_found', message: 'Domain not found' };
    expect(await cli.failure('domain', 'resume-sending', newId())).toEqual(missing);
    expect(await cli.failure('domain', 'pause-sending', newId(), '--reason', 'x')).toEqual(missing);
    expect(await cli.failure('domain', 'pause-sending', newId())).toMatchObject({ code: 'invalid_request' });
    expect(await cli.failure('domain', 'pause-sending', newId(), '--reason', ' ')).toMatchObject({
      code: 'invalid_request',
    });
  });
});
