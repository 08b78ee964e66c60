import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SmtpSink } from '../../doubles/smtp-sink';
import { DeliveryScene } from '../../setup/delivery-scene';
import { runWith } from './cli-kit';

const MASTER_KEY = randomBytes(32);

/** No database is needed. */
const run = (args: string[], environment: NodeJS.ProcessEnv = {}) => runWith(environment, ['classify', ...args]);
const json = async (args: string[], environment?: NodeJS.ProcessEnv) =>
  JSON.parse((await run([...args, '--json'], environment)).stdout) as Record<string, unknown>;

describe('waybill classify', () => {
  const folder = mkdtempSync(join(tmpdir(), 'classify-'));
  const file = join(folder, 'rules.json');
  afterAll(() => rmSync(folder, { recursive: true }));

  it('explains a reply of one line or several', async () => {
    expect(await json(['550 5.1.1 User unknown'])).toEqual({
      ...{ rule: 'bad-mailbox-code', class: 'mailbox', action: 'bounce_and_suppress', suppress: true },
      ...{ bounceType: 'hard', explanation: expect.stringContaining('address is bad') },
      source: 'https://www.rfc-editor.org/rfc/rfc3463#section-3.2',
    });
    const rate = [
      '550-5.2.1 The user you are trying to contact is receiving mail at a',
      '550 5.2.1 rate that prevents it',
    ];
    for (const separator of ['\n', '\\n', '\r\n']) {
      expect(await json([rate.join(separator)])).toMatchObject({
        ...{ rule: 'google-recipient-rate-refused', class: 'rate', action: 'retry', suppress: false, bounceType: null },
      });
    }
  });

  it('goes by the stage', async () => {
    expect(await json(['550 5.1.1 User unknown', '--stage', 'mail'])).toMatchObject({
      ...{ action: 'retry', suppress: false, explanation: expect.stringContaining('after 3 retries') },
    });
    expect((await run(['550 no', '--stage', 'helo'])).stderr).toContain('Allowed choices are connect, mail, rcpt');
  });

  it('has the operator’s rules first', async () => {
    writeFileSync(
      file,
      JSON.stringify({ rules: [{ id: 'ours', text: 'user.unknown', class: 'policy', action: 'retry' }] }),
    );
    for (const result of [
      await json(['550 5.1.1 User unknown'], { CLASSIFICATION_RULES: file }),
      await json(['550 5.1.1 User unknown', '--rules', file]),
    ]) {
      expect(result).toMatchObject({ rule: 'ours', class: 'policy', action: 'retry' });
    }
  });

  it('refuses a bad file, naming the rule, and what is no refusal', async () => {
    writeFileSync(file, JSON.stringify({ rules: [{ id: 'ours', text: '(', class: 'policy', action: 'retry' }] }));
    const bad = await run(['550 no', '--rules', file]);
    expect(bad).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('rule "ours"') });
    for (const reply of ['250 OK', 'no', '']) expect(await run([reply])).toMatchObject({ exitCode: 1 });
  });
});

describe('waybill classify --replay', () => {
  let scene: DeliveryScene;
  let sink: SmtpSink;
  const folder = mkdtempSync(join(tmpdir(), 'replay-'));
  const file = join(folder, 'rules.json');
  beforeAll(async () => {
    scene = await DeliveryScene.open();
    sink = await SmtpSink.start();
  });
  afterAll(async () => {
    await scene.close();
    await sink.stop();
    rmSync(folder, { recursive: true });
  });

  function replay(...args: string[]) {
    const environment = {
      DATABASE_URL: scene.db.url,
      MASTER_KEY: MASTER_KEY.toString('base64'),
      WAYBILL_DATA_DIR: folder,
    };
    return json(['--replay', '1', ...args], environment);
  }

  it('shows the decisions of other rules for the stored replies, and changes nothing', async () => {
    const [unknown = '', later = ''] = await scene.acceptTo('rcpt-550-5.1.1', 'rcpt-550-rate');
    await scene.startWorker({ hopPort: sink.port, isFinalHop: true });
    await scene.readWhenStatus(unknown, 'bounced');
    await scene.readWhen(later, ({ events }) => events.at(-1)?.event_type === 'deferred', 'a deferral');
    expect(await replay()).toMatchObject({ replies: 2, changed: 0, changes: [] });

    const before = await scene.db.query('select * from suppressions');
    const rules = [{ id: 'ours', codes: ['550'], enhancedCodes: ['5.1.1'], class: 'mailbox', action: 'retry' }];
    writeFileSync(file, JSON.stringify({ rules }));
    expect(await replay('--rules', file)).toEqual({
      ...{ days: 1, replies: 2, changed: 1 },
      difference: {
        suppressions: { added: 0, removed: 1 },
        bounces: { added: 0, removed: 0 },
        retries: { added: 1, removed: 0 },
      },
      changes: [
        {
          from: { rule: 'bad-mailbox-code', action: 'bounce_and_suppress' },
          to: { rule: 'ours', action: 'retry' },
          count: 1,
        },
      ],
    });
    expect(await scene.db.query('select * from suppressions')).toEqual(before);
  });
});
