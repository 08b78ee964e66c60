import type { AppConfig } from '../../config/config';
import type { DanePolicies } from './dane.service';
import type { MtaStsPolicies } from './mta-sts.service';
import { TlsSessionCounts } from './tls-session-counts';

const KIND = {
  ...({ domain: 'x.example', policyType: 'sts', result: 'success' } as const),
  ...{ mxHost: '', sendingIp: '', receivingIp: '' },
};

it('connections of one kind are counted together, also when the policy changes meanwhile', () => {
  const config = { delivery: { mode: 'direct', smtpPort: 25 }, tlsReports: undefined } as unknown as AppConfig;
  const counts = new TlsSessionCounts(config, {} as MtaStsPolicies, {} as DanePolicies);
  counts.add({ ...KIND, policy: 'mode: testing', sessions: 2 });
  counts.add({ ...KIND, policy: 'mode: enforce', sessions: 1 });
  counts.add({ ...KIND, result: 'certificate-expired', policy: 'mode: enforce', sessions: 1 });
  // A statement adds to each row once.
  expect(counts.take()).toEqual([
    { ...KIND, policy: 'mode: enforce', sessions: 3 },
    { ...KIND, result: 'certificate-expired', policy: 'mode: enforce', sessions: 1 },
  ]);
  expect(counts.take()).toEqual([]);
});
