import { UnavailableError } from '../../common/errors/app-error';
import { ConnectError, isUnavailable, translateDatabaseError } from './database-errors';

describe('isUnavailable', () => {
  const withCode = (code: string) => Object.assign(new Error('what the server says'), { code });

  it.each(['57P01', '53300', '08006', '25006', '25P03', '25P04', 'ECONNRESET'])('holds for %s', (code) => {
    expect(isUnavailable(withCode(code))).toBe(true);
    expect(isUnavailable(Object.assign(new Error('query failed'), { driverError: withCode(code) }))).toBe(true);
  });

  it.each(['23505', '25P02', '42P01', '42501', 'XX000'])('does not hold for %s', (code) => {
    expect(isUnavailable(withCode(code))).toBe(false);
  });
});

describe('translateDatabaseError', () => {
  const withCode = (code: string) => Object.assign(new Error('what the server says'), { code });

  it.each(['57P01', '40001', '42P01'])('takes %s for an outage, which ends without a change of the service', (code) => {
    expect(translateDatabaseError(withCode(code))).toBeInstanceOf(UnavailableError);
  });

  it.each(['23505', '42601'])('leaves %s alone', (code) => {
    const error = withCode(code);
    expect(translateDatabaseError(error)).toBe(error);
  });
});

describe('ConnectError', () => {
  it('says what each address of a name has refused, for which Node has no message', () => {
    const errors = ['connect ECONNREFUSED ::1:5432', 'connect ECONNREFUSED 127.0.0.1:5432'].map(
      (text) => new Error(text),
    );
    const cause = Object.assign(new AggregateError(errors), { code: 'ECONNREFUSED' });
    const { message, code } = new ConnectError(cause);
    expect({ message, code }).toEqual({
      message: 'connect ECONNREFUSED ::1:5432; connect ECONNREFUSED 127.0.0.1:5432',
      code: 'ECONNREFUSED',
    });
    expect(new ConnectError(new Error('no')).message).toBe('no');
  });
});
