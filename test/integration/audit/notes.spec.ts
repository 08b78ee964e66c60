import { Logger } from '@nestjs/common';
import { OrganizationsService } from '../../../src/auth/organizations/organizations.service';
import { newId } from '../../../src/common/ids';
import { AuditService } from '../../../src/audit/audit.service';
import { type Core, startCore } from '../../setup/core-context';
import { type OpenTestDatabase, openTestDatabase } from '../../setup/open-test-database';
import { waitFor } from '../../setup/wait-for';

describe('notes', () => {
  let db: OpenTestDatabase;
  let core: Core;
  let organizationId: string;
  beforeAll(async () => (db = await openTestDatabase()));
  beforeEach(async () => {
    core = await startCore(db.url);
    ({ id: organizationId } = await core.get(OrganizationsService).create('Acme'));
  });
  afterEach(() => core.close());
  afterAll(() => db.drop());

  const note = (targetId: string) =>
    core
      .get(AuditService)
      .note({ organizationId, actor: newId(), action: 'thing.refused', targetType: 'thing', targetId });
  const written = async () =>
    (
      await db.query(
        "select target_id from audit_log where organization_id = $1 and target_type = 'thing' order by id",
        [organizationId],
      )
    ).map((row) => Number(row.target_id));

  it('are written before the process ends', async () => {
    note('1');
    await core.close();
    expect(await written()).toEqual([1]);
  });

  it('are bounded', async () => {
    for (let n = 0; n < 1_200; n += 1) note(String(n));
    await core.close();
    expect(await written()).toEqual(Array.from({ length: 1_000 }, (_, n) => n));
  });

  it('wait while they cannot be written', async () => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation();
    await db.query('alter table audit_log rename to hidden_log');
    note('1');
    await waitFor(() => warn.mock.calls.length > 0, { what: 'an attempt to write them' });
    await db.query('alter table hidden_log rename to audit_log');
    await waitFor(async () => (await written()).length === 1, { what: 'the note' });
    warn.mockRestore();
  });
});
