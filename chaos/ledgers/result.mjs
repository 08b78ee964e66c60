import { KINDS } from '../plan/destinations.mjs';
import { QUIET } from '../plan/traffic.mjs';
import { isDeath } from './fault-log.mjs';

/** A dead worker's lease, and the time to find, claim and deliver its mail. */
const RECOVERY_MARGIN_SECONDS = 5;
/**
 * Mail that two workers died with is tried apart from other mail, by one worker at a time. Releases up to 0.2.0 try one at a time, for 5 s
 * at most, and then other mail for as long: while their workers run, the new release cannot be faster.
 */
const ALONE_SECONDS = 10;
const LISTED = 10;
const TERMINAL = new Set(['delivered', 'bounced', 'failed']);

/**
 * Compares the ledgers with the service's data. Figures that must be 0, or within a limit, are in `checks`; a run has passed when
 * all of them hold.
 * @param scene with its ledgers @param service the data of the database and the API, see ledgers/service-view.mjs
 */
export function evaluate({ plan, scene, service, exitCodes }) {
  const { clientLedger: client, sinkLedger: sink, webhookLedger: webhooks, log } = scene;
  const expected = recipientsOf(client);
  const recipients = judgeRecipients(expected, sink, service);
  const recovery = judgeRecovery(log, plan, scene.releaseLog);
  const duplicates = judgeDuplicates(expected, scene, plan);
  const missing = service.events.filter(({ tenant, id }) => !webhooks.has(tenant, id));
  const badExits = Object.entries(exitCodes).filter(([, code]) => code !== 0);
  const checks = {
    lost: list(recipients.lost),
    stuck: list([...recipients.stuck, ...service.open.map((one) => `in the queue: ${JSON.stringify(one)}`)]),
    wrong: list([...recipients.wrong, ...judgeApi(client, sink, service)]),
    phantoms: list([...sink.copies.keys()].filter((address) => !expected.has(address))),
    refused: list(client.refusals.map((refusal) => JSON.stringify(refusal))),
    unexplainedDuplicates: list(duplicates.unexplained),
    wrongEvents: list(service.wrongEvents.map((one) => JSON.stringify(one))),
    webhooksMissing: list(missing.map(({ tenant, id, type }) => `tenant ${tenant}: ${type} ${id}`)),
    statisticsDrift: { count: service.statistics.drift, first: [] },
    unrecovered: { count: log.orphanCount, first: [] },
    statementErrors: list(service.statementErrors),
    badExits: list(badExits.map(([name, code]) => `${name}: ${code}`)),
    ...(plan.isUpgrade && { idleReleases: list(scene.releaseLog.idle) }),
  };
  const { suspects } = recovery;
  const isRecoveryGood = isWithin(recovery) && (suspects === undefined || isWithin(suspects));
  return {
    seed: plan.seed,
    fingerprint: plan.fingerprint,
    accepted: client.acceptances.size,
    passed: isRecoveryGood && Object.values(checks).every(({ count }) => count === 0),
    checks,
    duplicates: { total: duplicates.total, byDisturbance: duplicates.byDisturbance },
    recovery,
    fairness: judgeFairness(client, sink, log),
    webhooks: { expected: service.events.length, requests: webhooks.requests },
    countersCompared: service.statistics.compared,
    repetitions: client.repetitions,
    ...(plan.isUpgrade && { upgrade: scene.releaseLog.summary }),
    outages: log.outages.map(durationOf),
    // A fault that lasts until the end ends with the run.
    workerless: log.workerless.filter(({ until }) => until < Infinity).map(durationOf),
  };
}

/** By address, the mail acknowledged to the client. */
function recipientsOf({ acceptances }) {
  const expected = new Map();
  for (const { id, at, tenant, message } of acceptances.values()) {
    for (const { address, kind } of message.recipients) expected.set(address, { id, at, tenant, kind });
  }
  return expected;
}

function judgeRecipients(expected, sink, service) {
  const result = { lost: [], stuck: [], wrong: [] };
  for (const [address, { id, kind }] of expected) {
    const state = service.recipients.get(address);
    const isTaken = sink.taken(address).length > 0;
    const outcome = kind === 'poison' ? 'failed' : KINDS[kind].outcome;
    const facts = `${address} of ${id}: ${state ?? 'not stored'}, ${isTaken ? '' : 'not '}at the sink`;
    if (state === undefined || (TERMINAL.has(state) && outcome === 'delivered' && !isTaken)) result.lost.push(facts);
    else if (!TERMINAL.has(state)) result.stuck.push(facts);
    else if (state !== outcome || isTaken !== (outcome === 'delivered')) result.wrong.push(facts);
  }
  return result;
}

/** The API's status of every email beside the sink's record of it. */
function judgeApi({ acceptances }, sink, { statuses }) {
  const wrong = [];
  for (const { id, message } of acceptances.values()) {
    const isTaken = message.recipients.some(({ address }) => sink.taken(address).length > 0);
    const status = statuses.get(id);
    const isGood = isTaken ? status === 'delivered' : status === 'bounced' || status === 'failed';
    if (!isGood) wrong.push(`${id}: ${status ?? 'not listed'} in the API, ${isTaken ? '' : 'not '}at the sink`);
  }
  return wrong;
}

function judgeDuplicates(expected, { sinkLedger: sink, log }, { leaseSeconds }) {
  const unexplained = [];
  let total = 0;
  for (const address of expected.keys()) {
    const copies = sink.taken(address);
    if (new Set(copies.map(({ messageId }) => messageId)).size > 1) {
      unexplained.push(`${address}: different Message-IDs ${copies.map(({ messageId }) => messageId).join(', ')}`);
    }
    for (const copy of copies.slice(0, -1)) {
      total += 1;
      const cause = log.explanationOf(copy, leaseSeconds * 1_000);
      if (cause) cause.duplicates = (cause.duplicates ?? 0) + 1;
      else unexplained.push(`${address}: ${copies.map(describeCopy).join(', ')}`);
    }
  }
  const workers = log.disturbances.filter(({ name }) => !name.startsWith('api'));
  const byDisturbance = workers.map((one) => ({
    kind: one.kind,
    client: one.client,
    held: one.held,
    // Later deliveries by a living worker do not count.
    pastTheDot: isDeath(one) ? sink.pastTheDot(one.client, one.at) : undefined,
    duplicates: one.duplicates ?? 0,
    longestRecovery: one.longestRecovery,
  }));
  return { total, unexplained, byDisturbance };
}

/**
 * From the death of a worker to the delivery of its mail. Where there was no database, or no worker that could claim, in
 * between: from the end of that time, because nothing can take the mail over before. `rawP99` counts from the death.
 */
function judgeRecovery({ recoveries, outages, workerless }, { leaseSeconds, isUpgrade = false }, releaseLog) {
  const limit = (leaseSeconds + RECOVERY_MARGIN_SECONDS) * 1_000;
  const pauses = [...outages, ...workerless];
  const timed = recoveries.map(({ address, disturbance, deaths, client, ms, answeredAt }) => {
    const returns = pauses
      .filter(({ until }) => until > disturbance.at && until < answeredAt)
      .map(({ until }) => until);
    const took = Math.min(ms, answeredAt - Math.max(disturbance.at, ...returns));
    disturbance.longestRecovery = Math.round(Math.max(took, disturbance.longestRecovery ?? 0));
    return { address, took, deaths, isSuspect: isUpgrade && deaths > 1, release: releaseLog?.releaseOf(client) };
  });
  const suspects = timed.filter(({ isSuspect }) => isSuspect);
  const sinceReturn = timed.filter(({ isSuspect }) => !isSuspect).map(({ took }) => took);
  return {
    count: sinceReturn.length,
    p50: quantile(sinceReturn, 0.5),
    p99: quantile(sinceReturn, 0.99),
    rawP99: quantile(
      recoveries.map(({ ms }) => ms),
      0.99,
    ),
    longest: quantile(sinceReturn, 1),
    limit,
    late: describeLate(timed, limit),
    ...(suspects.length > 0 && { suspects: describeSuspects(suspects, limit) }),
  };
}

/** What took longer than the limit, the longest first. */
function describeLate(timed, limit) {
  const late = timed.filter(({ took }) => took > limit).toSorted((one, other) => other.took - one.took);
  const describe = ({ address, took, deaths }) => `${address} ${Math.round(took)} ms, workers dead with it: ${deaths}`;
  return {
    count: late.length,
    afterOneDeath: late.filter(({ deaths }) => deaths === 1).length,
    first: late.slice(0, 20).map(describe),
  };
}

/** Mail that two workers died with while both releases ran, by the release that delivered it in the end. */
function describeSuspects(suspects, limit) {
  const of = (wanted) => suspects.filter(({ release }) => release === wanted).map(({ took }) => took);
  const [old, anew] = [of('old'), of('new')];
  return {
    count: suspects.length,
    p99: quantile(
      suspects.map(({ took }) => took),
      0.99,
    ),
    limit: limit + suspects.length * ALONE_SECONDS * 1_000,
    old: { count: old.length, longest: quantile(old, 1) },
    new: { count: anew.length, longest: quantile(anew, 1) },
  };
}

function isWithin({ p99, limit }) {
  return p99 === undefined || p99 <= limit;
}

/** From the 202 to the final dot, for mail to good servers: of the tenant that sends little, and of all others. */
function judgeFairness({ acceptances }, sink) {
  const latencies = { quiet: [], others: [] };
  for (const { at, tenant, message } of acceptances.values()) {
    const [{ address, kind }] = message.recipients;
    const [first] = sink.taken(address);
    if (kind === 'ok' && first) latencies[tenant === QUIET ? 'quiet' : 'others'].push(Math.max(0, first.dotAt - at));
  }
  const describe = (values) => ({ count: values.length, p50: quantile(values, 0.5), p99: quantile(values, 0.99) });
  return { quiet: describe(latencies.quiet), others: describe(latencies.others) };
}

function durationOf({ at, until }) {
  return Math.round(until - at);
}

/** In whole milliseconds; undefined of nothing. */
function quantile(values, share) {
  if (values.length === 0) return undefined;
  const sorted = values.toSorted((one, other) => one - other);
  return Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]);
}

function describeCopy({ client, dotAt, answeredAt }) {
  const [dot, answer] = [dotAt, answeredAt].map((ms) => (ms / 1_000).toFixed(2));
  return `by ${client}, dot at ${dot}, 250 at ${answer}`;
}

function list(items) {
  return { count: items.length, first: items.slice(0, LISTED) };
}
