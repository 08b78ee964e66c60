import { SystemClock } from '../../common/clock';
import type { InstallationGauges } from '../../common/jobs/installation-gauges';
import type { PeriodicJob, PeriodicJobs } from '../../common/jobs/periodic-jobs';
import { loadConfig } from '../../config/load-config';
import type { DomainsRepository } from './registry/domains.repository';
import { DomainRecheckJob } from './domains.job';
import type { DomainVerificationService } from './verification/domain-verification.service';

function jobsWith(env: Record<string, string>): string[] {
  const started: string[] = [];
  const jobs = { start: ({ name }: PeriodicJob) => void started.push(name) } as unknown as PeriodicJobs;
  const config = loadConfig({ MASTER_KEY: Buffer.alloc(32, 7).toString('base64'), ...env });
  const unused = {} as DomainsRepository & DomainVerificationService;
  const gauges = { showOfWorkers: () => undefined } as unknown as InstallationGauges;
  new DomainRecheckJob(unused, unused, jobs, gauges, new SystemClock(), config).onApplicationBootstrap();
  return started;
}

describe('the background re-check', () => {
  it('runs wherever mail goes out', () => {
    expect(jobsWith({ DELIVERY_MODE: 'direct', MAIL_HOST: 'mx.waybill.test' })).toEqual(['recheck-domains']);
    expect(jobsWith({ DELIVERY_MODE: 'relay', RELAY_URL: 'smtp://127.0.0.1:25' })).toEqual(['recheck-domains']);
  });

  it('sends no queries from a laptop, unless servers are set', () => {
    expect(jobsWith({ DELIVERY_MODE: 'local' })).toEqual([]);
    expect(jobsWith({ DELIVERY_MODE: 'local', DNS_SERVERS: '127.0.0.1:53' })).toEqual(['recheck-domains']);
  });
});
