import { FakeClock } from '../../../test/doubles/fake-clock';
import { SECOND } from '../../common/clock';
import type { DnsAnswer, DnsResolver } from '../../common/dns/dns-resolver';
import type { PeriodicJobs } from '../../common/jobs/periodic-jobs';
import type { AppConfig } from '../../config/config';
import type { TlsRepository, SessionCount } from './tls.repository';
import type { DanePolicies } from './dane.service';
import type { MtaStsPolicies } from './mta-sts.service';
import { CountTlsSessionsJob } from './tls.job';
import { TlsSessionCounts } from './tls-session-counts';

const SILENT_FOR_MS = 3 * SECOND;
const silent = Array.from({ length: 200 }, (_, index) => `silent-${index}.example`);

describe('counting the connections that TLS reports are of', () => {
  const written: string[] = [];
  const holders = new Set<string | undefined>();
  const clock = new FakeClock();
  let lookUps = 0;
  const resolver = {
    resolveTxt: (name: string, { holder }: { holder?: string } = {}): Promise<DnsAnswer<string>> => {
      lookUps += 1;
      holders.add(holder);
      if (!name.includes('silent')) return Promise.resolve({ kind: 'found', records: ['v=TLSRPTv1; rua=mailto:a@b.example'] }); // prettier-ignore
      clock.advance(SILENT_FOR_MS);
      return Promise.resolve({ kind: 'temporary', reason: 'ETIMEOUT' });
    },
  };
  const config = { delivery: {}, tlsReports: {} } as AppConfig;
  const counts = new TlsSessionCounts(config, {} as MtaStsPolicies, {} as DanePolicies);
  const destinations = {
    addTlsSessions: (kept: readonly SessionCount[]) => {
      written.push(...kept.map(({ domain, sessions }) => `${domain} ${sessions}`));
      return Promise.resolve();
    },
  };
  const job = new CountTlsSessionsJob(
    counts,
    destinations as unknown as TlsRepository,
    resolver as unknown as DnsResolver,
    config,
    {} as PeriodicJobs,
    clock,
  );
  const connect = (domain: string): void =>
    counts.add({
      ...{ domain, policyType: 'no-policy-found', result: 'success', policy: '', sessions: 1 },
      ...{ mxHost: '', sendingIp: '', receivingIp: '' },
    });

  it('ends in time however many names are silent, and comes to each domain in its turn', async () => {
    connect('known.example');
    await job.run();
    expect(written).toEqual(['known.example 1']);
    for (const domain of [...silent, 'new.example', 'known.example']) connect(domain);
    const beganMs = clock.monotonicMs();
    await job.run();
    expect(clock.monotonicMs() - beganMs).toBeLessThan(90 * SECOND);
    expect(written).toEqual(['known.example 1', 'known.example 1']);
    expect(lookUps).toBeLessThan(silent.length);
    for (let run = 0; run < silent.length && !written.includes('new.example 2'); run += 1) {
      connect('later.example');
      if (run === 0) connect('new.example');
      await job.run();
    }
    expect(written).toContain('new.example 2');
    expect(written).not.toContainEqual(expect.stringContaining('silent'));
    // Each silent name was looked up once, and its connections were not kept.
    expect(lookUps).toBeLessThanOrEqual(silent.length + 3);
    expect([...holders]).toEqual(['tls-reports']);
  });
});
