import { FakeClock } from '../../../../test/doubles/fake-clock';
import { MINUTE } from '../../../common/clock';
import { UnavailableError } from '../../../common/errors/app-error';
import { type EncryptedDkimKeysService, MasterKeyCheck } from './encrypted-dkim-keys.service';

const AWAY = new UnavailableError('The database is temporarily unavailable');
const clock = new FakeClock();
const sample = jest.fn();
const check = new MasterKeyCheck({ sample } as unknown as EncryptedDkimKeysService, clock);

beforeEach(() => sample.mockReset());

describe('the check of the master key', () => {
  it('passes when a key is known, or there is none', async () => {
    for (const known of [
      { tried: 5, known: 1 },
      { tried: 0, known: 0 },
    ]) {
      sample.mockResolvedValueOnce(known);
      await check.onModuleInit();
    }
  });

  it('ends the start when no key is known', async () => {
    sample.mockResolvedValueOnce({ tried: 5, known: 0 });
    await expect(check.onModuleInit()).rejects.toThrow('MASTER_KEY decrypts none of the DKIM keys');
  });

  it('waits for a database that is being restarted', async () => {
    sample.mockRejectedValueOnce(AWAY).mockResolvedValueOnce({ tried: 1, known: 1 });
    await check.onModuleInit();
    expect(sample).toHaveBeenCalledTimes(2);
  });

  it('waits a minute, and for nothing else', async () => {
    sample.mockImplementation(() => {
      clock.advance(MINUTE);
      return Promise.reject(AWAY);
    });
    await expect(check.onModuleInit()).rejects.toBe(AWAY);
    sample.mockRejectedValue(new Error('no such table'));
    await expect(check.onModuleInit()).rejects.toThrow('no such table');
  });
});
