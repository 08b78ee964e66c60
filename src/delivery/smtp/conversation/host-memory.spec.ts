import { FakeClock } from '../../../../test/doubles/fake-clock';
import { MINUTE } from '../../../common/clock';
import { DeadAddresses, SilentTls, TlsSessions } from './host-memory';
import type { SmtpEndpoint } from './smtp-endpoint';
import { CUT_SHORT, type SmtpFailed, type SmtpResult } from './smtp-result';

const failed = (fields: Partial<SmtpFailed>): SmtpResult => ({
  kind: 'failed',
  phase: 'connect',
  cause: 'timeout',
  afterFinalDot: false,
  detail: '',
  hostName: 'mx',
  tls: false,
  ...fields,
});
const reply = { code: 421, lines: ['4.3.2 later'] };

describe('DeadAddresses', () => {
  it.each<[string, SmtpResult, boolean]>([
    ['no connection', failed({}), true],
    ['no banner', failed({ phase: 'greeting', cause: 'closed' }), true],
    ['a banner that refuses', { kind: 'rejected', phase: 'greeting', reply, hostName: 'mx', tls: false }, false],
    ['a fault later on', failed({ phase: 'mail' }), false],
    ['an attempt that was called off', failed({ cause: 'aborted' }), false],
    ['a silence that this side cut short', failed({ ...CUT_SHORT, phase: 'greeting' }), false],
    ['a lack of this host', failed({ cause: 'local' }), false],
  ])('%s', (_name, result, isDead) => {
    const dead = new DeadAddresses(new FakeClock());
    dead.note('192.0.2.1', 25, result);
    expect(dead.has('192.0.2.1', 25)).toBe(isDead);
    expect(dead.has('192.0.2.1', 26)).toBe(false);
  });

  it('are tried again after minutes, and available with the first that responds', () => {
    const clock = new FakeClock();
    const dead = new DeadAddresses(clock);
    dead.note('192.0.2.1', 25, failed({}));
    dead.note('192.0.2.2', 25, failed({}));
    dead.note('192.0.2.2', 25, { kind: 'rejected', phase: 'rcpt', reply, hostName: 'mx', tls: false });
    expect(dead.has('192.0.2.2', 25)).toBe(false);
    clock.advance(5 * MINUTE);
    expect(dead.has('192.0.2.1', 25)).toBe(false);
  });
});

it('a TLS session as large as the server likes is not kept', () => {
  const sessions = new TlsSessions();
  const endpoint = { hostName: 'mx', address: '192.0.2.1', port: 25, security: 'opportunistic' } as SmtpEndpoint;
  sessions.keep(endpoint, { ticket: Buffer.alloc(3_000), verified: false });
  sessions.keep(endpoint, { ticket: Buffer.alloc(64 * 1024), verified: false });
  expect(sessions.find(endpoint)?.ticket).toHaveLength(3_000);
});

it.each<[string, Partial<SmtpFailed>, string]>([
  ['that lasts', {}, 'none'],
  ['that this side cut short', CUT_SHORT, 'opportunistic'],
])('a silence after STARTTLS %s', (_name, fields, security) => {
  const silentTls = new SilentTls(new FakeClock());
  const endpoint = { hostName: 'mx', address: '192.0.2.1', port: 25, security: 'opportunistic' } as SmtpEndpoint;
  silentTls.note(endpoint, failed({ phase: 'tls', ...fields }));
  expect(silentTls.asKnown(endpoint).security).toBe(security);
});
