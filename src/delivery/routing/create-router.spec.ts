import { setImmediate as nextTurn } from 'node:timers/promises';
import type { NetworkInterfaceInfo } from 'node:os';
import { Logger } from '@nestjs/common';
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
  beforeEach(() => void jest.spyOn(Logger.prototype, 'warn').mockReturnValue(undefined));

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

  it('looks the host up again a second after a failure', async () => {
    const { router, clock } = setUp([new Error('?'), ['10.0.0.1']]);
    await router.resolve();
    clock.advance(SECOND - 1);
    await expect(router.resolve()).resolves.toMatchObject({ kind: 'unroutable' });
    clock.advance(1);
    await expect(router.resolve()).resolves.toMatchObject({ hosts: [{ addresses: ['10.0.0.1'] }] });
  });

  it('uses the last addresses while look-ups fail, and waits for the first of them only', async () => {
    const { router, clock } = setUp([['10.0.0.1'], new Error('?'), [], ['10.0.0.2']]);
    await router.resolve();
    clock.advance(30 * SECOND);
    const seen: unknown[] = [];
    for (let second = 0; second < 4; second += 1) {
      seen.push(await router.resolve());
      // The look-up that this has begun ends.
      await nextTurn();
      clock.advance(SECOND);
    }
    const at = (address: string) =>
      expect.objectContaining({ hosts: [expect.objectContaining({ addresses: [address] })] });
    expect(seen).toEqual([at('10.0.0.1'), at('10.0.0.1'), at('10.0.0.1'), at('10.0.0.2')]);
  });

  it('shares one look-up among those that come while it is under way', async () => {
    const { router } = setUp([['10.0.0.1'], new Error('?')]);
    const [one, other] = await Promise.all([router.resolve(), router.resolve()]);
    expect(other).toBe(one);
  });

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
