import { lastWords } from './run-command';

describe('lastWords', () => {
  it('keeps why a server does not start, however many clients it refuses meanwhile', () => {
    const refused = [
      'the database system is starting up',
      'the database system is not yet accepting connections',
      'the database system is in recovery mode',
      'the database system is shutting down',
    ].map((text) => `2026-11-29 03:34:22.821 UTC [7811] FATAL:  ${text}\n`);
    const cause =
      '2026-11-29 03:34:22.830 UTC [7808] FATAL:  could not write to file "pg_wal/xlogtemp": No space left on device';
    const clients = refused.join('').repeat(50);
    expect(lastWords(`${clients}${cause}\n${clients}pg_ctl: could not start server\n`)).toBe(
      `${cause}\npg_ctl: could not start server`,
    );
  });

  it('keeps the end of a long log', () => {
    expect(lastWords('a'.repeat(10_000) + 'b'.repeat(2_000))).toBe('b'.repeat(2_000));
  });
});
