import { patienceWith } from './server';

describe('a start of the embedded Postgres that fails', () => {
  // A recovery of 9.5 s, and a connection that timed out right after it, gave up a server that was up.
  it.each([
    ['process 7 should serve port 5433, but: timeout expired', 60_000],
    ['process 7 should serve port 5433, but: the database system is not yet accepting connections', 60_000],
    ['process 7 should serve port 5433, but: connect ECONNREFUSED 127.0.0.1:5433', 10_000],
    ['process 7 should serve port 5433, but: password authentication failed for user "postgres"', 10_000],
    ['pg_ctl start: could not bind IPv4 address "127.0.0.1": Address already in use', 10_000],
    ['pg_ctl start: could not open control file', 1_000],
  ])('is tried again as long as its cause may pass: %s', (reason, limitMs) => {
    expect(patienceWith(reason)).toBe(limitMs);
  });
});
