import type { NetworkInterfaceInfo } from 'node:os';
import { FakeClock } from '../../../test/doubles/fake-clock';
import { SECOND } from '../../common/clock';
import { FixedRouter, hasIpv6 } from './create-router';

function setUp(answers: (string[] | Error)[]) {
  const clock = new FakeClock();
  const lookUp = () => {
    const answer = answers.shift() ?? [];
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
  };
  const options = { hostName: 'relay.example', port: 587, final: false, lookUp };
  return { clock, router: new FixedRouter(clock, options) };
}

describe('FixedRouter', () => {
  it('routes everything to the one host', async () => {
    const { router } = setUp([['10.0.0.1', '::1']]);
    await expect(router.resolve()).resolves.toEqual({
      kind: 'hosts',
      hosts: [{ hostName: 'relay.example', addresses: ['10.0.0.1', '::1'], preference: 0 }],
      port: 587,
      final: false,
    });
  });

  it('looks the host up again after half a minute', async () => {
    const { router, clock } = setUp([['10.0.0.1'], ['10.0.0.2']]);
    await router.resolve();
    clock.advance(30 * SECOND - 1);
    await expect(router.resolve()).resolves.toMatchObject({ hosts: [{ addresses: ['10.0.0.1'] }] });
    clock.advance(1);
    await expect(router.resolve()).resolves.toMatchObject({ hosts: [{ addresses: ['10.0.0.2'] }] });
  });

  it.each([[new Error('?')], [Object.assign(new Error(), { code: 'ENOTFOUND' })], [[]]])(
    'never bounces for trouble with the host: %s',
    async (answer) => {
      const { router } = setUp([answer]);
      await expect(router.resolve()).resolves.toMatchObject({ kind: 'unroutable', permanent: false });
    },
  );

  it('takes an address as it is', async () => {
    const router = new FixedRouter(new FakeClock(), { hostName: '127.0.0.1', port: 2525, final: true });
    await expect(router.resolve()).resolves.toMatchObject({ hosts: [{ addresses: ['127.0.0.1'] }] });
  });
});

const withAddress = (...addresses: string[]) => ({
  eth0: addresses.map(
    (address) => ({ address, family: address.includes(':') ? 'IPv6' : 'IPv4' }) as NetworkInterfaceInfo,
  ),
});

describe('IPv6 of this machine', () => {
  it.each([
    [['8.8.4.1'], false, false],
    [['8.8.4.1', '2a00:1450::1'], true, true],
    [['::1', 'fe80::1'], false, true],
    [['fe80::1'], false, false],
    [['fd00::1'], false, true],
    [[], false, false],
  ])('with %j: %s, in a closed network %s', (addresses, isPublic, isPrivate) => {
    expect(hasIpv6(false, withAddress(...addresses))).toBe(isPublic);
    expect(hasIpv6(true, withAddress(...addresses))).toBe(isPrivate);
  });
});
