import { FakeClock } from '../../../../test/doubles/fake-clock';
import { claimOf } from '../../../../test/setup/recipient-copies';
import { SECOND } from '../../../common/clock';
import type { AppConfig } from '../../../config/config';
import { EgressPools } from '../../egress/egress-pools';
import { SourceChooser } from '../../egress/source-chooser';
import type { WarmUpVolumes } from '../../egress/warm-up-volumes';
import { BUILT_IN_CLASSIFIER } from '../../policy/replies/classify-reply';
import { rejection } from '../../policy/transmission-result';
import type { SignedMessage } from '../../compose/message-composer';
import type { SmtpTransmitter, Target, Transmission } from './smtp-transmitter';
import { SourceTransmitter } from './source-transmitter';
import type { WorkerSession } from '../session/worker-session';

const ACME = '0197a3f2-6c1e-7b60-9d52-3f1c0e6a4b28';
const FOUR = { address: '127.0.0.2', ehlo: 'four.example.org' };
const SIX = { address: '::1', ehlo: 'six.example.org' };
const GOOGLE = 'gmail-smtp-in.l.google.com';

const ACCEPTED: Transmission = { kind: 'accepted', final: true, smtp: { code: 250 } };
const UNREACHED: Transmission = {
  ...{ kind: 'failed', cause: 'timeout', afterFinalDot: false },
  smtp: { phase: 'connect', response: 'No answer' },
};
const LISTED: Transmission = rejection(
  { phase: 'mail', code: 554, response: '554 5.7.1 Client host blocked using zen.spamhaus.org' },
  BUILT_IN_CLASSIFIER,
);

interface Scene {
  readonly addresses: readonly (typeof FOUR)[];
  /** By source address; `system` without one. */
  readonly results: Readonly<Record<string, Transmission>>;
  readonly receiver?: readonly string[];
  readonly group?: string;
  readonly preferIpv6?: boolean;
  /** What each transmission takes; none by default. */
  readonly takesSeconds?: number;
}

async function send({ addresses, results, receiver = ['192.0.2.1', '2001:db8::1'], group = 'mx', ...rest }: Scene) {
  const clock = new FakeClock();
  const pools = addresses.length > 0 ? [{ name: 'acme', addresses, organizations: [ACME] }] : [];
  const egress = new EgressPools(pools, clock);
  const taken: string[] = [];
  const volumes = {
    take: (address: string) => Promise.resolve(void taken.push(address)),
    refund: (address: string) => void taken.splice(taken.indexOf(address), 1),
  } as unknown as WarmUpVolumes;
  const config = { delivery: { mode: 'direct', preferIpv6: rest.preferIpv6 ?? false } } as AppConfig;
  const tried: string[] = [];
  const given: (number | undefined)[] = [];
  const smtp = {
    transmit: (_claim: unknown, _message: unknown, { source, attemptSeconds }: Target) => {
      const name = source?.address ?? 'system';
      tried.push(name);
      given.push(attemptSeconds);
      clock.advance((rest.takesSeconds ?? 0) * SECOND);
      return Promise.resolve(results[name] ?? ACCEPTED);
    },
  } as unknown as SmtpTransmitter;
  const session = { holds: () => true } as unknown as WorkerSession;
  const transmitter = new SourceTransmitter(smtp, new SourceChooser(egress, volumes, config), session, clock);
  const hosts = {
    ...({ kind: 'hosts', port: 25, final: true, group } as const),
    hosts: [{ hostName: group, addresses: receiver, preference: 1 }],
  };
  const claim = claimOf(0, { organizationId: ACME });
  const sent = await transmitter.transmit(claim, {} as SignedMessage, { hosts, first: group, group });
  return { sent, tried, given, taken, suspended: egress.drainChanges().map(({ address }) => address) };
}

describe('an attempt from a pool', () => {
  it('begins with IPv4, and falls back to IPv6 when no server replies', async () => {
    const all = { addresses: [SIX, FOUR], results: {} };
    expect((await send(all)).tried).toEqual([FOUR.address]);
    const fallenBack = await send({ ...all, results: { [FOUR.address]: UNREACHED } });
    expect(fallenBack).toMatchObject({ tried: [FOUR.address, SIX.address], sent: { sent: { kind: 'accepted' } } });
    // What did not arrive is not counted as sent.
    expect(fallenBack.taken).toEqual([SIX.address]);
  });

  it('begins with IPv6 where the installation prefers it, save at receivers that do not', async () => {
    const all = { addresses: [FOUR, SIX], results: { [SIX.address]: UNREACHED }, preferIpv6: true };
    expect((await send(all)).tried).toEqual([SIX.address, FOUR.address]);
    expect((await send({ ...all, group: GOOGLE })).tried).toEqual([FOUR.address]);
  });

  it('uses no family that the receiver or the pool lacks', async () => {
    expect((await send({ addresses: [FOUR], results: { [FOUR.address]: UNREACHED } })).tried).toEqual([FOUR.address]);
    const onlySix = await send({ addresses: [FOUR], results: {}, receiver: ['2001:db8::1'] });
    expect(onlySix).toMatchObject({ tried: [], sent: { sent: { cause: 'source-suspended' } } });
    expect((await send({ addresses: [FOUR, SIX], results: {}, receiver: ['2001:db8::1'] })).tried).toEqual(['::1']);
  });

  it('tries the next address after a refused one, and reports when there is none left', async () => {
    const other = { address: '127.0.0.3', ehlo: 'other.example.org' };
    const results = { [FOUR.address]: LISTED, [other.address]: LISTED };
    const refused = await send({ addresses: [FOUR, other, SIX], results });
    expect(refused.tried).toEqual([FOUR.address, other.address, SIX.address]);
    expect(refused.suspended).toEqual([FOUR.address, other.address]);
    const all = await send({ addresses: [FOUR, other], results });
    expect(all.sent).toMatchObject({ kind: 'sent', isSourceRefused: true, sent: { kind: 'rejected' } });
  });

  it('has the time of one attempt for all addresses, whatever a receiver takes to refuse them', async () => {
    const addresses = ['127.0.0.2', '127.0.0.3', '127.0.0.4'].map((address) => ({ ...FOUR, address }));
    const results = Object.fromEntries(addresses.map(({ address }) => [address, LISTED]));
    const { tried, given, sent } = await send({ addresses, results, takesSeconds: 600 });
    expect([tried, given]).toEqual([
      ['127.0.0.2', '127.0.0.3'],
      [900, 300],
    ]);
    expect(sent).toMatchObject({ kind: 'sent', isSourceRefused: true, sent: { kind: 'rejected' } });
  });

  it('reports the reply that it got, and not that no server replied by the other family', async () => {
    const results = { [FOUR.address]: UNREACHED, [SIX.address]: LISTED };
    const all = { addresses: [FOUR, SIX], preferIpv6: true };
    expect((await send({ ...all, results })).sent).toMatchObject({ sent: { kind: 'rejected' } });
    expect((await send({ ...all, preferIpv6: false, results })).sent).toMatchObject({ sent: { kind: 'rejected' } });
  });

  it('leaves it to the receiver’s pause when the choice of the system is refused and there is no other', async () => {
    const { sent, suspended } = await send({ addresses: [], results: { system: LISTED } });
    expect(sent).toMatchObject({ kind: 'sent', isSourceRefused: false });
    expect(suspended).toEqual(['default']);
  });
});
