import { EventEmitter } from 'node:events';
import type { Request } from 'express';
import { FakeClock } from '../../test/doubles/fake-clock';
import { AppError } from '../common/errors/app-error';
import { AuthenticationFailureLimiter } from './authentication-failure-limiter';
import { limitsWith } from './limits';

const failure = new AppError('invalid_api_key', 'Bad key');
const settled = () => new Promise(setImmediate);

function create(enabled = true) {
  const clock = new FakeClock();
  const limiter = new AuthenticationFailureLimiter({ enabled, limits: limitsWith({}) }, clock);
  const requestOf = (ip: string, res?: EventEmitter): Request => ({ ip, socket: {}, res }) as unknown as Request;
  const refused = (ip: string): Promise<AppError> =>
    limiter
      .verify(requestOf(ip), 'a guess', () => Promise.reject(failure))
      .catch((error: unknown) => error as AppError);
  const fail = async (ip: string, times = 1): Promise<string> => {
    let last = failure;
    for (let count = 0; count < times; count += 1) last = await refused(ip);
    return last.code;
  };
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  /** A look-up that lasts until its function in `ends` is called. */
  const lookUp = (ip: string, credential: string, response?: EventEmitter): Promise<void> =>
    limiter.verify(requestOf(ip, response), credential, () => {
      begun.push(credential);
      return new Promise((resolve) => void ends.push(resolve));
    });
  const endAll = async (): Promise<void> => {
    for (let end = ends.shift(); end; end = ends.shift()) {
      end();
      await settled();
    }
  };
  return { clock, fail, refused, lookUp, begun, endAll };
}

describe('AuthenticationFailureLimiter', () => {
  it('returns the failure itself a hundred times, then 429 until the minute is over', async () => {
    const { clock, fail, refused } = create();
    expect(await fail('192.0.2.1', 100)).toBe('invalid_api_key');
    expect(await fail('192.0.2.1')).toBe('rate_limit_exceeded');
    clock.advance(20_000);
    expect(await refused('192.0.2.1')).toMatchObject({
      message: 'Rate limit exceeded. Retry after 40 seconds',
      retryAfterSeconds: 40,
    });
    clock.advance(41_000);
    expect(await fail('192.0.2.1')).toBe('invalid_api_key');
  });

  it('counts addresses apart, but one IPv6 network and both spellings of IPv4 together', async () => {
    const { fail } = create();
    await fail('192.0.2.1', 100);
    expect(await fail('192.0.2.2')).toBe('invalid_api_key');
    expect(await fail('::ffff:192.0.2.1')).toBe('rate_limit_exceeded');
    await fail('2001:db8:1:2::1', 100);
    expect(await fail('2001:db8:1:2:ffff::9')).toBe('rate_limit_exceeded');
    expect(await fail('2001:db8:1:3::1')).toBe('invalid_api_key');
    expect(await fail('unknown')).toBe('invalid_api_key');
  });

  it.each([
    ['a /48', (index: number) => `2001:db8:1:${index.toString(16)}::1`, '2001:db8:1:ffff::1', '2001:db8:2::1'],
    ['a /24', (index: number) => `192.0.2.${index}`, '192.0.2.255', '198.51.100.1'],
  ])('gives the networks of one owner three times as many together: %s', async (_what, ipOf, another, ofOther) => {
    const { fail } = create();
    for (let index = 0; index < 100; index += 1) expect(await fail(ipOf(index), 3)).toBe('invalid_api_key');
    expect(await fail(another)).toBe('rate_limit_exceeded');
    expect(await fail(ofOther)).toBe('invalid_api_key');
  });

  it('does not forget an owner who has more networks than are kept', async () => {
    const { fail } = create();
    for (let index = 0; index < 10_400; index += 1) await fail(`2001:db8:1:${index.toString(16)}::1`);
    expect(await fail('2001:db8:1::1')).toBe('rate_limit_exceeded');
  });

  it('lets credentials that are not known take turns, one of an owner and two in all, once too many have failed', async () => {
    const { fail, lookUp, begun, endAll } = create();
    for (let index = 0; index < 100; index += 1) await fail(`192.0.2.${index}`, 3);
    await fail('198.51.100.1', 100);
    await fail('203.0.113.1', 100);
    const lookUps = ['a', 'b'].flatMap((name) => [
      lookUp('192.0.2.1', `${name}1`),
      lookUp('192.0.2.1', `${name}2`),
      lookUp('192.0.2.2', `${name}3`),
    ]);
    lookUps.push(lookUp('198.51.100.1', 'c'), lookUp('203.0.113.1', 'd'));
    await settled();
    expect(begun).toEqual(['a1', 'c']);
    await endAll();
    await Promise.all(lookUps);
    // Owners in rotation, then the networks of one.
    expect(begun).toEqual(['a1', 'c', 'd', 'a3', 'a2', 'b3', 'b1', 'b2']);
  });

  it('lets all that are not known take turns while more fail in all than is usual, from however many owners', async () => {
    const { fail, lookUp, begun, endAll } = create();
    for (let index = 0; index < 3_000; index += 1) await fail(`2001:db8:${index.toString(16)}::1`);
    expect(await fail('2001:db8:ffff::1')).toBe('invalid_api_key');
    const lookUps = ['192.0.2.1', '198.51.100.1', '203.0.113.1'].map((ip) => lookUp(ip, ip));
    await settled();
    expect(begun).toHaveLength(2);
    await endAll();
    await Promise.all(lookUps);
  });

  it('lets a credential that was good within the hour begin at once, wherever it comes from', async () => {
    const { clock, fail, lookUp, begun, endAll } = create();
    clock.advance(1);
    const good = lookUp('192.0.2.1', 'good');
    await endAll();
    await good;
    const lookUps: Promise<void>[] = [];
    const flood = async (guess: string): Promise<void> => {
      await fail('192.0.2.1', 100);
      lookUps.push(lookUp('192.0.2.1', guess), lookUp('192.0.2.1', 'good'));
      await settled();
    };
    await flood('a guess');
    expect(begun).toEqual(['good', 'good', 'a guess']);
    await endAll();
    clock.advance(3_600_001);
    await flood('another');
    expect(begun).toEqual(['good', 'good', 'a guess', 'another']);
    await endAll();
    await Promise.all(lookUps);
  });

  it('does not begin what waits for a client that has gone', async () => {
    const { fail, lookUp, begun, endAll } = create();
    await fail('192.0.2.1', 100);
    const first = lookUp('192.0.2.1', 'first');
    const response = new EventEmitter();
    const gone = lookUp('192.0.2.1', 'gone', response);
    response.emit('close');
    await expect(gone).rejects.toThrow('The client has disconnected');
    await endAll();
    await first;
    expect(begun).toEqual(['first']);
  });

  it('does nothing when limits are off', async () => {
    const { fail, lookUp, begun, endAll } = create(false);
    expect(await fail('192.0.2.1', 400)).toBe('invalid_api_key');
    const lookUps = [lookUp('192.0.2.1', 'one'), lookUp('192.0.2.1', 'two'), lookUp('192.0.2.1', 'three')];
    expect(begun).toEqual(['one', 'two', 'three']);
    await endAll();
    await Promise.all(lookUps);
  });
});
