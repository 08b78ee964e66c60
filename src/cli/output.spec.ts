import { CommanderError } from 'commander';
import { AppError, ValidationError } from '../common/errors/app-error';
import { ConfigurationError } from '../config/load-config';
import { CliError, toErrorReport } from './cli-error';
import { Output } from './output';

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
    [new Error('disk full'), { code: 'internal_error', message: 'disk full' }],
    ['text', { code: 'internal_error', message: 'text' }],
  ])('%s', (error, report) => {
    expect(toErrorReport(error)).toEqual(report);
  });
});
