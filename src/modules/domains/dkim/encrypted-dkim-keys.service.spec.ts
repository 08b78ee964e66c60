import { Logger } from '@nestjs/common';
import { FakeClock } from '../../../../test/doubles/fake-clock';
import { MINUTE } from '../../../common/clock';
import { UnavailableError } from '../../../common/errors/app-error';
import { type EncryptedDkimKeysService, MasterKeyCheck } from './encrypted-dkim-keys.service';

const AWAY = new UnavailableError('The database is temporarily unavailable');
const clock = new FakeClock();
const sample = jest.fn();
const adopt = jest.fn();
const check = new MasterKeyCheck({ sample } as unknown as EncryptedDkimKeysService, { adopt } as never, clock);

beforeEach(() => {
  sample.mockReset();
  adopt.mockReset().mockResolvedValue(true);
});

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

  it('ends the start when other processes use another key, and no DKIM key says that this one is right too', async () => {
    const logged = jest.spyOn(Logger, 'error').mockImplementation();
    adopt.mockResolvedValue(false);
    sample.mockResolvedValueOnce({ tried: 0, known: 0 });
    await expect(check.onModuleInit()).rejects.toThrow('MASTER_KEY is not the key that other processes');
    sample.mockResolvedValueOnce({ tried: 5, known: 5 });
    await check.onModuleInit();
    expect(logged).toHaveBeenCalledWith(expect.stringContaining('MASTER_KEY_PREVIOUS'), 'MasterKey');
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
