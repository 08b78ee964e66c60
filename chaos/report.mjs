const NAMES = {
  lost: 'lost: accepted and never at the receiving server',
  stuck: 'stuck: no end',
  wrong: 'wrong: API or database contradict the receiving servers',
  phantoms: 'phantoms: at the receiving server, never accepted',
  refused: 'refused for good by the API',
  unexplainedDuplicates: 'duplicates that no kill, stop or partition explains',
  wrongEvents: 'emails with missing or surplus events',
  webhooksMissing: 'webhook events missing',
  statisticsDrift: 'hourly counters that differ from the events',
  unrecovered: 'mail of dead workers that was never delivered',
  statementErrors: 'statements that failed, other than by time limits and lost connections',
  badExits: 'processes that did not stop in good order',
  idleReleases: 'releases that did nothing on the new schema',
};

/** The result as a text for people. */
export function formatReport(result) {
  const { seed, fingerprint, accepted, seconds, checks, duplicates, recovery, fairness, webhooks } = result;
  const rows = Object.entries(checks).map(([name, { count }]) => [String(count), NAMES[name]]);
  const width = Math.max(...rows.map(([count]) => count.length));
  return [
    `seed ${seed} (plan ${fingerprint}): ${accepted} emails accepted, ${seconds} s`,
    '',
    ...rows.map(([count, name]) => `${count.padStart(width)}  ${name}`),
    '',
    ...Object.entries(checks).flatMap(([name, { first }]) => first.map((one) => `${name}: ${one}`)),
    `duplicates ${duplicates.total}`,
    ...duplicates.byDisturbance.map(formatDisturbance),
    `recovery of ${recovery.count} mails of dead workers: p50 ${recovery.p50} ms, p99 ${recovery.p99} ms, longest ` +
      `${recovery.longest} ms, limit ${recovery.limit} ms (p99 with times that had no database or no worker: ${recovery.rawP99} ms)`,
    ...formatLate(recovery.late),
    ...(recovery.suspects ? [formatSuspects(recovery.suspects)] : []),
    `accepted to final dot, p50 / p99: quiet tenant ${formatPair(fairness.quiet)}, others ${formatPair(fairness.others)}`,
    `webhooks: ${webhooks.expected} events, ${webhooks.requests} requests; repeated API requests: ${JSON.stringify(result.repetitions)}`,
    ...(result.upgrade ? formatUpgrade(result.upgrade) : []),
    `database outages: ${formatTimes(result.outages)}`,
    `times without a worker: ${formatTimes(result.workerless)}`,
    result.passed ? 'PASSED' : 'FAILED',
    '',
  ].join('\n');
}

function formatDisturbance({ kind, client, held = 0, pastTheDot = '-', duplicates, longestRecovery = 0 }) {
  const [life] = (client ?? 'all workers').split('.');
  return `  ${kind.padEnd(9)} ${life.padEnd(12)} ${String(duplicates).padStart(4)} duplicates, ${pastTheDot} past the dot, ${held} held, recovered in ${longestRecovery} ms`;
}

function formatSuspects({ count, p99, limit, old, new: anew }) {
  const of = (name, { count: some, longest }) =>
    some === 0 ? [] : [`${some} by the ${name} release (longest ${longest} ms)`];
  const by = [...of('old', old), ...of('new', anew)].join(', ');
  return `  beside them ${count} that two workers had died with, tried apart: p99 ${p99} ms, limit ${limit} ms; delivered: ${by}`;
}

function formatLate({ count, afterOneDeath, first }) {
  return count === 0
    ? []
    : [`  later: ${count}, ${afterOneDeath} of them after one death`, ...first.map((one) => `    ${one}`)];
}

function formatUpgrade({ migration, ...releases }) {
  return [
    `schema: ${migration.applied.length} migrations in ${migration.ms} ms, under load`,
    ...Object.entries(releases).map(
      ([name, { starts, answered, delivered }]) =>
        `on the new schema, ${name} release: ${starts} starts, ${answered} requests answered, ${delivered} mails delivered`,
    ),
  ];
}

function formatTimes(times) {
  return times.length === 0 ? 'none' : `${times.join(', ')} ms`;
}

function formatPair({ count, p50, p99 }) {
  return count === 0 ? 'none' : `${p50} / ${p99} ms (${count})`;
}
