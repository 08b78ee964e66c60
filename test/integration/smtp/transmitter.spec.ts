import { MINUTE } from '../../../src/common/clock';
import { SmtpTransmitter } from '../../../src/delivery/worker/smtp-transmitter';
import { FakeClock } from '../../doubles/fake-clock';
import { PortRouter } from '../../doubles/port-router';
import { ScriptedSmtpServer } from '../../doubles/scripted-smtp-server';
import { testConfig } from '../../setup/core-context';
import { claimOf } from '../../setup/recipient-copies';
import { MESSAGE } from './smtp-client-kit';

const HOSTS = Array.from({ length: 8 }, (_, n) => ({ hostName: `mx${n}.x.example`, addresses: ['127.0.0.1'] }));

describe('an attempt at several hosts', () => {
  let clock: FakeClock;
  let transmitter: SmtpTransmitter;

  /** Every host hangs up on whoever comes; `ms` passes meanwhile. */
  async function attempt(ms: number): Promise<number> {
    clock = new FakeClock();
    const server = await ScriptedSmtpServer.start((peer) => {
      clock.advance(ms);
      peer.close();
      return Promise.resolve();
    });
    const router = new PortRouter(() => ({ port: server.port, hosts: HOSTS }));
    transmitter = new SmtpTransmitter(
      router,
      testConfig({ DELIVERY_MODE: 'direct', MAIL_HOST: 'mail.example.org' }),
      clock,
    );
    const hosts = await router.resolve('x.example');
    if (hosts.kind !== 'hosts') throw new Error('no hosts');
    const message = { bytes: MESSAGE, returnPath: 'b@example.org', smtpUtf8: false };
    const result = await transmitter.transmit(claimOf(0), message, { hosts, first: 'mx0.x.example' }, () => true);
    expect(result).toMatchObject({ kind: 'failed', cause: 'closed' });
    transmitter.destroy();
    await server.stop();
    return server.connectionCount;
  }

  it('tries a few', async () => {
    expect(await attempt(0)).toBe(4);
  });

  it('tries no other once the first have taken long', async () => {
    expect(await attempt(MINUTE / 2 + 1)).toBe(2);
  });

  it('begins with a host that is not known to be dead', async () => {
    await attempt(0);
    const hosts = await new PortRouter(() => ({ port: 1, hosts: HOSTS })).resolve('x.example');
    if (hosts.kind !== 'hosts') throw new Error('no hosts');
    expect(transmitter.firstHosts(hosts)).toEqual(['mx0.x.example']);
  });
});
