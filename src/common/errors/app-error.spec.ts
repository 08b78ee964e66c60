import { NotFoundError, reasonOf, UnavailableError } from './app-error';

describe('reasonOf', () => {
  it('adds to an outage what the driver reports', () => {
    const cause = new Error('canceling statement due to statement timeout');
    expect(reasonOf(new UnavailableError('The database is away', cause))).toBe(
      `The database is away: ${cause.message}`,
    );
  });

  it.each<[what: string, error: unknown, reason: string]>([
    ['an outage without a cause', new UnavailableError('The process is stopping'), 'The process is stopping'],
    ['another error of ours', new NotFoundError('Email'), 'Email not found'],
    ['an error of a library', new Error('x', { cause: new Error('y') }), 'x'],
    ['what is no error', 'away', 'away'],
  ])('has the message of %s', (_what, error, reason) => {
    expect(reasonOf(error)).toBe(reason);
  });
});
