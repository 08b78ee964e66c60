import { inspect } from 'node:util';
import { OrganizationsService } from '../../../src/auth/organizations/organizations.service';
import { SECOND } from '../../../src/common/clock';
import { Database } from '../../../src/database/pool/database.service';
import { DkimKeysRepository } from '../../../src/modules/domains/dkim/dkim-keys.repository';
import { DkimKeysService } from '../../../src/modules/domains/dkim/dkim-keys.service';
import { DomainsService } from '../../../src/modules/domains/domains.service';
import { SigningKeysService } from '../../../src/modules/domains/dkim/signing-keys.service';
import { DomainRegistrationService } from '../../../src/modules/domains/domain-registration.service';
import { FakeClock } from '../../doubles/fake-clock';
import { type Core, startCore } from '../../setup/core-context';
import { createTestDatabase, type TestDatabase } from '../../setup/test-database';

/** A key is looked up again once it is older than five seconds. */
const FRESH_MS = 5 * SECOND + 1;

let database: TestDatabase;
let clock: FakeClock;
let core: Core;
let organizationId: string;
let first: string;
let second: string;

beforeEach(async () => {
  database = await createTestDatabase();
  clock = new FakeClock();
  // To the cache, a time of 0 is no time.
  clock.advance(1);
  core = await startCore(database.url, { clock });
  ({ id: organizationId } = await core.get(OrganizationsService).create('Acme'));
  const add = async (name: string) => (await core.get(DomainsService).add(organizationId, name)).id;
  [first, second] = [await add('first.example'), await add('second.example')];
});
afterEach(async () => {
  await core.close();
  await database.drop();
});

/** The selectors that a process signs with, by domain. */
async function selectors(...domainIds: string[]): Promise<Record<string, string>> {
  const owners = domainIds.map((domainId) => ({ organizationId, domainId }));
  const keys = [...(await core.get(SigningKeysService).keysFor(owners))];
  return Object.fromEntries(
    keys.map(([id, key]) => [id, typeof key === 'object' && 'selector' in key ? key.selector : inspect(key)]),
  );
}

it('signs with a new key within five seconds of its activation', async () => {
  await core.get(DkimKeysService).rotate(organizationId, first, 'operator');
  clock.advance(FRESH_MS);
  expect(await selectors(first)).toEqual({ [first]: 'wb1' });
  await core.get(Database).transaction((tx) => core.get(DkimKeysService).activate(organizationId, first, 'wb2', tx));
  clock.advance(FRESH_MS);
  expect(await selectors(first)).toEqual({ [first]: 'wb2' });
});

it('activates nothing that is not pending', async () => {
  const activate = (selector: string) =>
    core.get(Database).transaction((tx) => core.get(DkimKeysService).activate(organizationId, first, selector, tx));
  await activate('wb1');
  await activate('wb2');
  const keys = await core.get(DkimKeysService).published(organizationId, first);
  expect(keys.map(({ selector, state }) => [selector, state])).toEqual([['wb1', 'active']]);
});

it('has no key of a domain within five seconds of its removal', async () => {
  expect(await selectors(second)).toEqual({ [second]: 'wb1' });
  await core.get(DomainRegistrationService).remove(organizationId, second, 'operator');
  clock.advance(FRESH_MS);
  expect(await selectors(first, second)).toEqual({ [first]: 'wb1' });
});

it('has no key of a failed domain whose name another organization has verified', async () => {
  const domains = core.get(DomainsService);
  expect(await selectors(second)).toEqual({ [second]: 'wb1' });
  const { id: other } = await core.get(OrganizationsService).create('Other');
  await domains.add(other, 'second.example');
  clock.advance(FRESH_MS);
  expect(await selectors(second)).toEqual({ [second]: 'wb1' });
  await domains.markVerified(other, 'second.example');
  clock.advance(FRESH_MS);
  expect(await selectors(first, second)).toEqual({ [first]: 'wb1' });
});

it('does not take a domain for removed whose time to be looked up comes while another one is', async () => {
  await selectors(first);
  const keys = core.get(DkimKeysRepository);
  const findActive = keys.findActive.bind(keys);
  jest.spyOn(keys, 'findActive').mockImplementation((owners) => {
    clock.advance(FRESH_MS);
    return findActive(owners);
  });
  expect(await selectors(first, second)).toEqual({ [first]: 'wb1', [second]: 'wb1' });
});
