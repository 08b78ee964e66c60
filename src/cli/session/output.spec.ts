import { CommanderError } from 'commander';
import { AppError, ValidationError } from '../../common/errors/app-error';
import { ConfigurationError } from '../../config/load-config';
import { cell, CliError, fields, Output, table, toErrorReport } from './output';

function collect(json: boolean) {
  const written = { stdout: '', stderr: '' };
  const output = new Output(
    json,
    { write: (text) => (written.stdout += text) },
    { write: (text) => (written.stderr += text) },
  );
  return { output, written };
}

describe('Output', () => {
  it('writes for people', () => {
    const { output, written } = collect(false);
    output.result({ json: { id: 1 }, text: 'id  1' });
    output.note('working');
    output.error({ code: 'invalid_request', message: 'No' });
    expect(written).toEqual({ stdout: 'id  1\n', stderr: 'waybill: working\nwaybill: No\n' });
  });

  it('writes for programs: one value, no notes', () => {
    const { output, written } = collect(true);
    output.result({ json: { text: 'two\nlines' }, text: '' });
    output.note('working');
    output.error({ code: 'invalid_request', message: 'No', details: { a: 1 } });
    expect(written).toEqual({
      stdout: '{"text":"two\\nlines"}\n',
      stderr: '{"error":{"code":"invalid_request","message":"No","details":{"a":1}}}\n',
    });
  });

  it('says in one line what is wrong with which field', () => {
    const { output, written } = collect(false);
    output.error(toErrorReport(new ValidationError({ name: ['name is short'], mode: ['mode is odd'] })));
    expect(written.stderr).toBe('waybill: Request validation failed: name is short; mode is odd\n');
  });
});

describe('toErrorReport', () => {
  it.each([
    [new AppError('account_suspended', 'Suspended'), { code: 'account_suspended', message: 'Suspended' }],
    [
      new CliError('unhealthy', 'Sick', { checks: [] }),
      { code: 'unhealthy', message: 'Sick', details: { checks: [] } },
    ],
    [
      new CommanderError(1, 'commander.unknownCommand', "error: unknown command 'x'\n(Did you mean y?)"),
      { code: 'invalid_request', message: "unknown command 'x' (Did you mean y?)" },
    ],
    [
      new ConfigurationError(['A is bad', 'B is bad']),
      { code: 'invalid_configuration', message: 'The configuration is not valid: A is bad B is bad' },
    ],
    [
      new Error('timeout expired'),
      { code: 'service_unavailable', message: 'The database is unavailable: timeout expired' },
    ],
    [
      Object.assign(new Error('terminating connection due to administrator command'), { code: '57P01' }),
      {
        code: 'service_unavailable',
        message: 'The database is unavailable: terminating connection due to administrator command',
      },
    ],
    [new Error('disk full'), { code: 'internal_error', message: 'disk full' }],
    ['text', { code: 'internal_error', message: 'text' }],
  ])('%s', (error, report) => {
    expect(toErrorReport(error)).toEqual(report);
  });
});

describe('cell', () => {
  it.each([
    [undefined, '-'],
    [null, '-'],
    ['', '-'],
    [[], '-'],
    [['a', 'b'], 'a,b'],
    [true, 'true'],
    [0, '0'],
    [new Date('2026-01-05T12:00:00Z'), '2026-01-05T12:00:00.000Z'],
    [{ a: 1 }, '{"a":1}'],
    ['a\nb\u001b[31mc\u009b', 'a?b?[31mc?'],
  ])('%j becomes %s', (value, text) => {
    expect(cell(value)).toBe(text);
  });
});

describe('fields', () => {
  it('puts the values below each other', () => {
    expect(fields({ id: 1, longer: 'x', empty: null })).toBe('id      1\nlonger  x\nempty   -');
  });
});

describe('table', () => {
  it('aligns by characters, with a heading and without spaces at the end', () => {
    expect(
      table([
        { name: 'ünïcödé', id: 'a' },
        { name: 'x', id: 'bcd' },
      ]),
    ).toBe('name     id\nünïcödé  a\nx        bcd');
  });

  it('has a column for every property that a row has', () => {
    expect(table([{ a: 1 }, { a: 2, b: 3 }])).toBe('a  b\n1  -\n2  3');
  });

  it('says that there is nothing', () => {
    expect(table([])).toBe('(none)');
  });
});
