import { UnavailableError } from '../../common/errors/app-error';
import { type DatabaseFault, databaseFault } from './database-fault';

const withCode = (code: string) => Object.assign(new Error('host db.internal, password hunter2'), { code });

describe('databaseFault', () => {
  it.each<[DatabaseFault, unknown]>([
    ['unreachable', withCode('ECONNREFUSED')],
    ['unreachable', withCode('08006')],
    ['unreachable', new Error('Connection terminated unexpectedly')],
    ['timeout', new Error('timeout expired')],
    ['timeout', new Error('Query read timeout')],
    ['timeout', withCode('57014')],
    ['unavailable', withCode('57P03')],
    ['refused', withCode('28P01')],
    ['refused', withCode('3D000')],
    ['refused', withCode('55000')],
    ['overloaded', withCode('53300')],
    ['no-tables', withCode('42P01')],
    ['failed', withCode('XX000')],
    ['failed', withCode('other')],
    ['failed', 'not an error'],
    ['overloaded', new UnavailableError('The database is temporarily unavailable', withCode('53300'))],
    ['failed', new UnavailableError()],
  ])('says "%s" of %p', (fault, error) => {
    expect(databaseFault(error)).toBe(fault);
  });
});
