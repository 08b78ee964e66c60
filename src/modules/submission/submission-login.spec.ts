import type { ApiKeyVerifier } from '../../auth/keys/api-key-verifier.service';
import { AppError } from '../../common/errors/app-error';
import { LoginFailures } from '../../common/http/request/request-limits';
import type { Principal } from '../../common/http/principal';
import { SubmissionLimits, SubmissionLogin } from './submission-login';

class NoFailures extends LoginFailures {
  count(): Promise<number> {
    return Promise.resolve(0);
  }

  add(): Promise<number> {
    return Promise.resolve(1);
  }
}

/** Takes `good`, and leaves guesses waiting. */
class SlowKeys {
  readonly refusals: (() => void)[] = [];

  verify(key: string): Promise<Principal> {
    if (key === 'good') return Promise.resolve({ scopes: new Set(['email:send']) } as unknown as Principal);
    return new Promise((_resolve, reject) => {
      this.refusals.push(() => reject(new AppError('invalid_api_key', 'The API key is missing or not valid')));
    });
  }
}

describe('logins over SMTP', () => {
  const settle = () => new Promise((resolve) => setImmediate(resolve));

  it('leave the database to others, however many clients guess, and do not wait where the last one was good', async () => {
    const keys = new SlowKeys();
    const logins = new SubmissionLogin(keys as unknown as ApiKeyVerifier, new NoFailures(), new SubmissionLimits());
    const logIn = (client: string, key: string) => logins.logIn(client, 'waybill', key);
    await logIn('192.0.2.1', 'good');
    const clients = Array.from({ length: 400 }, (_each, at) => `10.0.${at}.1`);
    const guesses = Promise.allSettled(clients.map((client) => logIn(client, 'guess')));
    await settle();
    expect(keys.refusals).toHaveLength(2);
    await expect(logIn('192.0.2.1', 'good')).resolves.toBeDefined();
    const first = logIn('192.0.2.2', 'good');
    for (let refuse = keys.refusals.shift(); refuse; refuse = keys.refusals.shift()) {
      refuse();
      await settle();
    }
    await expect(first).resolves.toBeDefined();
    const ended = await guesses;
    expect(ended.every(({ status }) => status === 'rejected')).toBe(true);
  });
});
