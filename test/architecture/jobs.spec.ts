import { SOURCES } from './source-files';

/**
 * Of many processes, one runs a background job at a time, by a lease (`exclusive`; removals always). Jobs that all processes run
 * at once divide their work by row locks, which others skip: each with the reason why a lease would be wrong.
 */
const SHARED: Record<string, string> = {
  'count-tls-sessions': "of the process's own counts",
  'share-destinations': 'every worker publishes its own experience',
  'share-egress': 'every worker publishes its own experience',
  'share-warm-up': 'every worker reads it, and gives back what it does not use',
  'end-disabled-webhooks': 'takes what no other has locked',
  'end-overdue': 'takes what no other has locked',
  'expand-webhooks':
    'an endpoint is moved on by the first process; a second must not wait for a lease when that one dies',
  'fold-stats': 'takes the deltas that no other has locked; late counters would be seen',
  'free-webhook-claims': 'takes what no other has locked',
  'give-back-claims': "of the process's own claims",
  'process-inbound-reports': 'work, divided by claims',
  'promote-due': 'due mail would wait for the lease of a process that died',
  'queue-actions': 'work, divided by claims',
  'reap-sessions': 'the claims of a dead process would wait for its lease as well',
  'delete-dead-sessions': 'takes what no other has locked',
  'recheck-domains': 'work, divided by claims',
  'release-orphaned': 'takes what no other has locked',
  'replay-webhooks': 'work, divided by claims',
  'record-sending': "of the process's own claims",
};
/** Names that are made: of requests of privacy, work that is divided by claims. */
const MADE = 'src/modules/privacy/privacy-requests.job.ts';

const STARTED = /jobs\.start\(\{([^]*?)\brun\b/g;

interface Started {
  readonly file: string;
  readonly name: string | undefined;
  readonly isExclusive: boolean;
}

const JOBS: readonly Started[] = SOURCES.filter(({ name }) => !name.startsWith('common/')).flatMap(
  ({ name: file, text }) =>
    [...text.matchAll(STARTED)].map(([, given = '']) => ({
      file,
      name: /name: '([\w-]+)'/.exec(given)?.[1],
      isExclusive: given.includes('exclusive: true'),
    })),
);

describe('background jobs', () => {
  const shared = JOBS.filter(({ isExclusive, file }) => !isExclusive && `src/${file}` !== MADE);

  it('run in one process at a time, or say in SHARED why not', () => {
    expect(JOBS.length).toBeGreaterThan(15);
    expect(shared.map(({ name }) => name).filter((name) => !SHARED[name ?? ''])).toEqual([]);
  });

  it('in SHARED exist', () => {
    const names = shared.map(({ name }) => name);
    expect(Object.keys(SHARED).filter((name) => !names.includes(name))).toEqual([]);
  });
});
