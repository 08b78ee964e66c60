import { createHash } from 'node:crypto';
import { makeDestinations } from './destinations.mjs';
import { makeFaults } from './faults.mjs';
import { Random } from './random.mjs';
import { makeRequests } from './traffic.mjs';
import { makeUpgrade } from './upgrade.mjs';

export const DEFAULT_MESSAGES = 50_000;
export const DEFAULT_UPGRADE_MESSAGES = 6_000;
const MESSAGES_PER_SECOND = 150;
const APIS = ['api-1', 'api-2'];
const FULL = { tenants: 20, workers: ['worker-1', 'worker-2', 'worker-3'] };
/** A short run is over before so many have started. */
const SHORT = { tenants: 6, workers: ['worker-1', 'worker-2'] };
const SHORT_MESSAGES = 5_000;
const LEAST_SECONDS = 20;
/** Processes end in good order and start, one after the other. */
const LEAST_UPGRADE_SECONDS = 120;
const LEAST_SECONDS_AND_BACK = 200;

/** Of a run of the default size; a smaller one has its share of them, but at least so many. */
const COUNTS = {
  kills: { full: 20, least: 3 },
  restarts: { full: 3, least: 1 },
  stops: { full: 2, least: 1 },
  partitions: { full: 1, least: 1 },
  clocks: { full: 1, least: 1 },
  links: { full: 6, least: 1 },
  tarpits: { full: 30, least: 3 },
  poison: { full: 2, least: 0 },
};

/**
 * The plan of a run, by its seed alone: all requests and faults with their times. Only the scheduling
 * of processes is left to chance.
 */
export function makePlan({ seed, messages = DEFAULT_MESSAGES }) {
  return planOf({ seed, messages, leastSeconds: LEAST_SECONDS }, makeFaults);
}

/** A rolling upgrade instead of faults; the mail is the same, but for poison. @param back whether all are rolled back in the end */
export function makeUpgradePlan({ seed, messages = DEFAULT_UPGRADE_MESSAGES, back = false }) {
  const leastSeconds = back ? LEAST_SECONDS_AND_BACK : LEAST_UPGRADE_SECONDS;
  const settings = { seed, messages, leastSeconds, poison: 0 };
  return { ...planOf(settings, (_random, common) => makeUpgrade({ ...common, back })), isUpgrade: true };
}

function planOf({ seed, messages, leastSeconds, poison }, faultsFor) {
  const scale = Math.min(1, messages / DEFAULT_MESSAGES);
  const counts = Object.fromEntries(
    Object.entries(COUNTS).map(([name, { full, least }]) => [name, Math.max(least, Math.round(full * scale))]),
  );
  const seconds = Math.max(leastSeconds, Math.round(messages / MESSAGES_PER_SECOND));
  // The service's own 30 s, where there is the time; a short run would be over before the first lease.
  const leaseSeconds = seconds >= 240 ? 30 : 4;
  const random = new Random(seed);
  const destinations = makeDestinations(counts.tarpits);
  const common = {
    seconds,
    leaseSeconds,
    counts,
    destinations,
    apis: APIS,
    ...(messages < SHORT_MESSAGES ? SHORT : FULL),
  };
  const requests = makeRequests(random.fork(1), { ...common, messages, poison: poison ?? counts.poison });
  const faults = faultsFor(random.fork(2), common);
  const plan = { seed, messages, ...common, requests, faults };
  return { ...plan, fingerprint: createHash('sha256').update(JSON.stringify(plan)).digest('hex').slice(0, 12) };
}
