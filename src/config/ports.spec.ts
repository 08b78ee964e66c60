import { plainToInstance } from 'class-transformer';
import { Environment } from './environment';
import { portProblems } from './ports';

const problemsOf = (env: Record<string, string>): string[] => {
  const given = { WAYBILL_ROLES: 'api', ...env };
  return portProblems(plainToInstance(Environment, given, { exposeDefaultValues: true }));
};

describe('the ports of one process', () => {
  it.each<[Record<string, string>, string]>([
    [{ PORT: '9464' }, 'METRICS_PORT and PORT must differ: this process cannot listen on port 9464 twice'],
    [{ PORT: '9464', HOST: '0.0.0.0' }, 'METRICS_PORT and PORT'],
    [{ PORT: '9464', HOST: '::' }, 'METRICS_PORT and PORT'],
    [{ PORT: '9464', METRICS_HOST: '0.0.0.0' }, 'METRICS_PORT and PORT'],
    [{ PORT: '2526', WAYBILL_ROLES: 'all' }, 'INBOUND_SMTP_PORT and PORT'],
    [{ SUBMISSIONS_PORT: '2587', WAYBILL_ROLES: 'submission' }, 'SUBMISSIONS_PORT and SUBMISSION_PORT'],
    [{ PORT: '5354', WAYBILL_ROLES: 'api,dns', DKIM_ZONE: 'dkim.example.com' }, 'DNS_PORT and PORT'],
  ])('must differ: %j', (env, sentence) => {
    expect(problemsOf(env)).toEqual([expect.stringContaining(sentence)]);
  });

  it.each<Record<string, string>>([
    {},
    { PORT: '0', METRICS_PORT: '0' },
    // Of other processes.
    { PORT: '2526' },
    { PORT: '9464', WAYBILL_ROLES: 'worker' },
    // Other addresses of this machine.
    { PORT: '9464', HOST: '192.0.2.1' },
    { PORT: '9464', HOST: '0.0.0.0', METRICS_HOST: '::1' },
    // Not listened on.
    { PORT: '5354', WAYBILL_ROLES: 'api,dns' },
    { SUBMISSIONS_PORT: '2587', WAYBILL_ROLES: 'submission', DELIVERY_MODE: 'direct' },
  ])('may be: %j', (env) => {
    expect(problemsOf(env)).toEqual([]);
  });
});
