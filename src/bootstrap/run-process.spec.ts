import { OperatorError, UnavailableError } from '../common/errors/app-error';
import type { Logger } from '../common/logging/logger';
import { logFailedStart } from './run-process';

describe('logFailedStart', () => {
  const denied = Object.assign(new Error('EACCES: open'), { code: 'EACCES', path: '/data/postgres.log' });
  const outage = new UnavailableError('The database is temporarily unavailable', new Error('could not extend file'));
  const logged = (error: unknown): unknown[] => {
    const fatal = jest.fn();
    logFailedStart({ fatal } as unknown as Logger, error);
    expect(fatal).toHaveBeenCalledTimes(1);
    return fatal.mock.calls[0] as unknown[];
  };

  it.each([
    ['a cause and its remedy', new OperatorError('do this'), 'start failed: do this'],
    [
      'what the driver reports of an outage',
      outage,
      'start failed: The database is temporarily unavailable: could not extend file',
    ],
    [
      'the file that cannot be used',
      denied,
      expect.stringMatching(/^start failed: \/data\/postgres\.log cannot be used/),
    ],
  ])('is one line, without a stack: %s', (_, error, line) => {
    expect(logged(error)).toEqual([{ code: 'start_failed' }, line]);
  });

  it('keeps the stack of what nobody has foreseen', () => {
    const error = new TypeError('x is not a function');
    expect(logged(error)).toEqual([{ err: error }, 'start failed']);
  });
});
