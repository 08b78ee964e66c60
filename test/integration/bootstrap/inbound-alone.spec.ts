import { ApiKeysService } from '../../../src/auth/keys/api-keys.service';
import { OrganizationsService } from '../../../src/auth/organizations/organizations.service';
import { newId } from '../../../src/common/ids';
import { InboundSmtpModule } from '../../../src/modules/inbound-smtp/inbound-smtp.module';
import { contextOf, type Core, processOf, testConfig } from '../../setup/core-context';
import { createTestDatabase, type TestDatabase } from '../../setup/test-database';

describe('a process with the role inbound alone', () => {
  let database: TestDatabase;
  let core: Core;

  beforeAll(async () => {
    database = await createTestDatabase();
    const options = { config: testConfig(), databaseUrl: database.url, imports: [InboundSmtpModule] };
    core = await contextOf(await processOf(options).compile());
  });
  afterAll(async () => {
    await core.close();
    await database.drop();
  });

  it('has no domains, so it makes no key that is bound to one, and reports that', async () => {
    const { id: organizationId } = await core.get(OrganizationsService).create('Acme');
    const keys = core.get(ApiKeysService);
    const wanted = { name: 'bound', mode: 'live' as const, scopes: [], domainId: newId() };
    await expect(keys.create(organizationId, wanted)).rejects.toThrow('this process does not know domains');
    expect(await keys.list(organizationId)).toEqual([]);
  });
});
