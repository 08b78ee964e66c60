import { BlockListsJob } from '../../../src/delivery/block-lists/block-lists.job';
import { EgressAddressesRepository } from '../../../src/delivery/egress/egress-addresses.repository';
import { Metrics } from '../../../src/common/metrics/metrics';
import { HOUR } from '../../../src/common/clock';
import { DnsServer, type DnsZones } from '../../doubles/dns-server';
import { PortRouter } from '../../doubles/port-router';
import type { Core } from '../../setup/core-context';
import { type OpenTestDatabase, openTestDatabase } from '../../setup/open-test-database';
import { startWorker } from '../../setup/worker-context';

const NO_HOP = 9;
const ZONES: DnsZones = {
  'mail.example.org': { A: ['8.8.8.8', '10.0.0.1'] },
  '8.8.8.8.listed.example': { A: ['127.0.0.2'], TXT: ['see https://listed.example'] },
  '8.8.8.8.refusing.example': { A: ['127.255.255.254'] },
};

describe('block lists', () => {
  let db: OpenTestDatabase;
  let dns: DnsServer;
  let worker: Core;
  beforeAll(async () => {
    db = await openTestDatabase({ poolSize: 2, applicationName: 'observer' });
    dns = await DnsServer.start(ZONES);
    worker = await startWorker(db.url, {
      hopPort: NO_HOP,
      router: new PortRouter(() => ({ port: NO_HOP })),
      isRunning: false,
      env: { DNS_SERVERS: dns.endpoint, BLOCK_LISTS: 'listed.example, clear.example,refusing.example' },
    });
  });
  afterAll(async () => {
    await worker.close();
    await dns.stop();
    await db.drop();
  });

  it('are queried for the public addresses, once an hour among all workers, and shown', async () => {
    const job = worker.get(BlockListsJob);
    await job.run();
    const checks = await worker.get(EgressAddressesRepository).listListings();
    expect(checks.map(({ address, list, state, reply }) => [address, list, state, reply])).toEqual([
      ['8.8.8.8', 'clear.example', 'clear', ''],
      ['8.8.8.8', 'listed.example', 'listed', '127.0.0.2: see https://listed.example'],
      ['8.8.8.8', 'refusing.example', 'unknown', expect.stringContaining('DNS_SERVERS')],
    ]);
    const asked = dns.queries.length;
    await job.run();
    expect(dns.queries.length).toBe(asked);
    await db.query("update block_list_checks set checked_at = now() - interval '61 minutes'");
    await job.run();
    expect(dns.queries.length).toBeGreaterThan(asked);
    job.registerMetrics();
    const text = await worker.get(Metrics).registry.metrics();
    expect(text).toContain('waybill_block_lists_listed{address="8.8.8.8"} 1');
    expect(text).toContain('waybill_block_lists_unknown{list="refusing.example"} 1');
    expect(text).toContain('waybill_block_lists_unknown{list="clear.example"} 0');
  });

  it('and the name of the mail host may fail: a listing stays until a list says otherwise', async () => {
    const checks = worker.get(EgressAddressesRepository);
    const listed = async () => (await checks.listListings()).find(({ list }) => list === 'listed.example');
    const lookAgain = async (zones: DnsZones) => {
      await db.query("update block_list_checks set checked_at = now() - interval '61 minutes'");
      dns.set({ ...ZONES, ...zones });
      await worker.get(BlockListsJob).run();
    };
    await lookAgain({});
    await db.query("update block_list_checks set since = now() - interval '2 hours'");
    const before = await listed();
    expect(before).toMatchObject({ state: 'listed', reply: '127.0.0.2: see https://listed.example' });
    for (const failing of ['mail.example.org', '8.8.8.8.listed.example']) {
      await lookAgain({ [failing]: 'servfail' });
      expect(await listed()).toEqual({ ...before, checkedAt: expect.any(Date) });
      expect(await checks.newestListingAgeMs()).toBeLessThan(HOUR);
    }
    await lookAgain({ '8.8.8.8.listed.example': {} });
    expect(await listed()).toMatchObject({ state: 'clear', reply: '' });
    await lookAgain({ '8.8.8.8.listed.example': 'servfail' });
    expect(await listed()).toMatchObject({ state: 'unknown' });
    await lookAgain({ 'mail.example.org': { A: ['8.8.4.4'] } });
    expect(await listed()).toMatchObject({ address: '8.8.4.4', state: 'clear' });
    dns.set(ZONES);
  });

  it('that are taken out of the list are forgotten; the time of a change stays', async () => {
    const checks = worker.get(EgressAddressesRepository);
    const listing = { address: '8.8.8.8', list: 'listed.example', state: 'listed' as const, reply: '' };
    await checks.replaceListings([listing, { ...listing, list: 'other.example' }]);
    await db.query("update block_list_checks set since = now() - interval '2 days'");
    await checks.replaceListings([listing]);
    const [left, ...others] = await checks.listListings();
    expect(others).toEqual([]);
    expect(Date.now() - Number(left?.since)).toBeGreaterThan(86_400_000);
    await checks.replaceListings([{ ...listing, state: 'clear' }]);
    expect((await checks.listListings())[0]).toMatchObject({ state: 'clear' });
  });
});
