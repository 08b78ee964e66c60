import { FakeClock } from '../../test/doubles/fake-clock';
import { AppError } from '../common/errors/app-error';
import { AuthenticationFailureLimiter } from './authentication-failure-limiter';
import { limitsWith } from './limits';

const failure = new AppError('invalid_api_key', 'Bad key');

function create(enabled = true) {
  const clock = new FakeClock();
  const limiter = new AuthenticationFailureLimiter({ enabled, limits: limitsWith({}) }, clock);
  const fail = (ip: string, times = 1): string => {
    let last = failure;
    for (let count = 0; count < times; count += 1) last = limiter.refusalFor(ip, failure);
    return last.code;
  };
  return { clock, fail, limiter };
}

describe('AuthenticationFailureLimiter', () => {
  it('returns the failure itself a hundred times, then 429 until the minute is over', () => {
    const { clock, fail, limiter } = create();
    expect(fail('192.0.2.1', 100)).toBe('invalid_api_key');
    expect(fail('192.0.2.1')).toBe('rate_limit_exceeded');
    clock.advance(20_000);
    expect(limiter.refusalFor('192.0.2.1', failure)).toMatchObject({
      message: 'Rate limit exceeded. Retry after 40 seconds',
      retryAfterSeconds: 40,
    });
    clock.advance(41_000);
    expect(fail('192.0.2.1')).toBe('invalid_api_key');
  });

  it('knows who has failed too often, without counting', () => {
    const { clock, fail, limiter } = create();
    fail('192.0.2.1', 99);
    expect(limiter.hasTooMany('192.0.2.1')).toBe(false);
    fail('192.0.2.1');
    expect([limiter.hasTooMany('192.0.2.1'), limiter.hasTooMany('192.0.2.2')]).toEqual([true, false]);
    clock.advance(61_000);
    expect(limiter.hasTooMany('192.0.2.1')).toBe(false);
    const off = create(false);
    off.fail('192.0.2.1', 200);
    expect(off.limiter.hasTooMany('192.0.2.1')).toBe(false);
  });

  it('counts addresses apart, but one IPv6 network and both spellings of IPv4 together', () => {
    const { fail } = create();
    fail('192.0.2.1', 100);
    expect(fail('192.0.2.2')).toBe('invalid_api_key');
    expect(fail('::ffff:192.0.2.1')).toBe('rate_limit_exceeded');
    fail('2001:db8:1:2::1', 100);
    expect(fail('2001:db8:1:2:ffff::9')).toBe('rate_limit_exceeded');
    expect(fail('2001:db8:1:3::1')).toBe('invalid_api_key');
    expect(fail('unknown')).toBe('invalid_api_key');
  });

  it('does nothing when limits are off', () => {
    expect(create(false).fail('192.0.2.1', 200)).toBe('invalid_api_key');
  });
});
