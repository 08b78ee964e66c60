import { newId } from '../../../src/common/ids';
import { query } from '../embedded/support';
import { CliKit } from './cli-kit';

describe('waybill inbound', () => {
  let cli: CliKit;
  const ids = [newId(), newId(), newId()];

  beforeAll(async () => {
    cli = await CliKit.createWarm();
    const hostile = "E'Return-Path: <a@x.example>\\r\\nSubject: \\033[31mred\\r\\n\\r\\nHello\\r\\n'::bytea";
    const rows = ids.map(
      (id, n) =>
        `('\\x0${n}', '${id}', '${n === 2 ? 'abuse' : 'postmaster'}', '2026-01-0${n + 1}T00:00:00Z', ${hostile})`,
    );
    await query(
      cli.url,
      `insert into feedback_reports (digest, id, mailbox, received_at, raw) values ${rows.join(', ')}`,
    );
  });
  afterAll(() => cli.destroy());

  it('lists a mailbox, newest first', async () => {
    const mail = (id: string | undefined, day: number) => ({
      ...{ id, mailbox: 'postmaster', size: 56, disposition: null },
      receivedAt: `2026-01-0${day}T00:00:00.000Z`,
    });
    expect(await cli.json('inbound', 'list')).toEqual([mail(ids[1], 2), mail(ids[0], 1)]);
    expect(await cli.json('inbound', 'list', '--limit', '1')).toEqual([mail(ids[1], 2)]);
    expect(await cli.json('inbound', 'list', '--mailbox', 'abuse')).toMatchObject([{ id: ids[2] }]);
    expect(await cli.json('inbound', 'list', '--mailbox', 'fbl')).toEqual([]);
  });

  it('shows a message without letting it speak to the terminal', async () => {
    const { raw } = await cli.json('inbound', 'show', ids[0] ?? '');
    expect(Buffer.from(raw as string, 'base64').toString()).toContain('\u001b[31mred');
    const shown = await cli.run('inbound', 'show', ids[0] ?? '');
    expect(shown.stdout).toContain('Subject: ?[31mred\n\nHello');
    expect(shown.stdout).not.toContain('\u001b');
  });

  it('refuses unknown ids', async () => {
    const missing = await cli.run('inbound', 'show', newId());
    expect(missing).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('Message not found') });
    const odd = await cli.run('inbound', 'list', '--limit', '0');
    expect(odd.exitCode).toBe(1);
  });
});
