import { KINDS } from './destinations.mjs';
import { makePlan, makeUpgradePlan } from './plan.mjs';
import { QUIET } from './traffic.mjs';

const SEEDS = Array.from({ length: 40 }, (_, index) => index + 1);
const full = makePlan({ seed: 1 });
const short = makePlan({ seed: 1, messages: 500 });
const messagesOf = ({ requests }) => requests.flatMap(({ messages }) => messages);
const recipientsOf = (plan) => messagesOf(plan).flatMap(({ recipients }) => recipients);
const faultsOf = ({ faults }, kind) => faults.filter((fault) => fault.kind === kind);

describe('a plan', () => {
  it('is the same for the same seed, and another one for another', () => {
    expect(JSON.stringify(makePlan({ seed: 1, messages: 500 }))).toBe(JSON.stringify(short));
    const fingerprints = SEEDS.map((seed) => makePlan({ seed, messages: 500 }).fingerprint);
    expect(new Set(fingerprints).size).toBe(SEEDS.length);
  });

  it('has by default all that is promised', () => {
    const kinds = ['kill', 'restart', 'stop', 'partition', 'clock', 'link', 'hole'];
    expect(kinds.map((kind) => faultsOf(full, kind).length)).toEqual([20, 3, 2, 1, 1, 6, 2]);
    expect(full.destinations.filter(({ kind }) => kind === 'tarpit')).toHaveLength(30);
    expect(recipientsOf(full).filter(({ kind }) => kind === 'poison')).toHaveLength(2);
    expect(new Set(full.requests.map(({ tenant }) => tenant)).size).toBe(20);
    expect(messagesOf(full)).toHaveLength(50_000 + 2);
    expect(full).toMatchObject({ seconds: 333, leaseSeconds: 30 });
  });

  it('is short and still has every kind of process fault when there are few messages', () => {
    const kinds = ['kill', 'restart', 'stop', 'partition', 'clock'];
    expect(kinds.map((kind) => faultsOf(short, kind).length)).toEqual([3, 1, 1, 1, 1]);
    expect(messagesOf(short)).toHaveLength(500);
    expect(short.seconds).toBeLessThanOrEqual(20);
  });

  it('names each recipient and each key once, so that the ledgers can be compared by them', () => {
    const addresses = recipientsOf(full).map(({ address }) => address);
    expect(new Set(addresses).size).toBe(addresses.length);
    expect(new Set(full.requests.map(({ key }) => key)).size).toBe(full.requests.length);
  });

  it('makes every kind of server take part, and the quiet tenant write to good ones only', () => {
    expect(new Set(recipientsOf(full).map(({ kind }) => kind))).toEqual(new Set([...Object.keys(KINDS), 'poison']));
    const quiet = full.requests.filter(({ tenant }) => tenant === QUIET);
    expect(quiet.length).toBeGreaterThan(10);
    for (const { messages } of quiet) expect(messages.map(({ recipients }) => recipients[0].kind)).toEqual(['ok']);
  });

  // Seed 13 had seven bounces among a tenant's first hundred mails: its domain was slowed, and the run had no end.
  it.each([...SEEDS.slice(0, 3), 13])('keeps each tenant below what slows it down, at any time: seed %i', (seed) => {
    const sent = new Map();
    for (const { tenant, messages } of makePlan({ seed }).requests) {
      const counts = sent.get(tenant) ?? { recipients: 0, bounces: 0 };
      sent.set(tenant, counts);
      for (const { kind } of messages.flatMap(({ recipients }) => recipients)) {
        counts.recipients += 1;
        if (KINDS[kind]?.outcome === 'bounced') counts.bounces += 1;
      }
      expect(counts.bounces / Math.max(counts.recipients, 100)).toBeLessThanOrEqual(0.05);
    }
    expect([...sent.values()].some(({ bounces }) => bounces > 0)).toBe(true);
  });

  it('gives each receiving server an address of its own', () => {
    const addresses = full.destinations.map(({ address }) => address);
    expect(new Set(addresses).size).toBe(addresses.length);
  });

  it.each(SEEDS)(
    'stops, cuts off and misleads one worker at a time, beyond the lease, and lets it live: seed %i',
    (seed) => {
      for (const plan of [
        makePlan({ seed, messages: 500 }),
        ...(seed <= 3 ? [makePlan({ seed, messages: 36_000 })] : []),
      ]) {
        const windows = plan.faults.filter(({ kind }) => ['stop', 'partition', 'clock'].includes(kind));
        windows.forEach((window, index) => {
          expect(window.at).toBeGreaterThanOrEqual(windows[index - 1]?.until ?? 0);
          expect(window.until).toBeLessThan(plan.seconds + plan.leaseSeconds);
          if (window.kind !== 'clock') expect(window.until - window.at).toBeGreaterThan(plan.leaseSeconds);
          for (const { target, at } of faultsOf(plan, 'kill').filter((kill) => kill.target === window.target)) {
            expect([target, at < window.at || at > window.until]).toEqual([window.target, true]);
          }
        });
      }
    },
  );

  it('is in order of time', () => {
    for (const { requests, faults } of [full, short]) {
      for (const list of [requests, faults]) {
        expect(list.every(({ at }, index) => at >= (list[index - 1]?.at ?? 0))).toBe(true);
      }
    }
  });
});

describe('the plan of an upgrade', () => {
  const plan = makeUpgradePlan({ seed: 1 });
  const members = [...plan.apis, ...plan.workers];
  /** The release of each process when a share of the time is over. */
  const releasesAt = (share) => {
    const steps = plan.faults.filter(({ kind, at }) => kind === 'release' && at <= share * plan.seconds);
    const last = (name) => steps.findLast(({ target }) => target === name)?.to ?? 'old';
    return members.map(last);
  };

  it('migrates under the old release, has both releases of each role at work for a third of the time, and ends with the new one', () => {
    expect(plan.faults[0].kind).toBe('migrate');
    for (const share of [0.2, 0.45]) {
      expect(plan.apis.map((name) => releasesAt(share)[members.indexOf(name)]).sort()).toEqual(['new', 'old']);
      expect(new Set(plan.workers.map((name) => releasesAt(share)[members.indexOf(name)]))).toEqual(
        new Set(['new', 'old']),
      );
    }
    expect(new Set(releasesAt(0.6))).toEqual(new Set(['old']));
    expect(new Set(releasesAt(1))).toEqual(new Set(['new']));
  });

  it('ends with the old release where that is wanted, after all have been of the new one for a while', () => {
    const { seconds, faults } = makeUpgradePlan({ seed: 1, back: true });
    const steps = faults.filter(({ kind }) => kind === 'release');
    const lastAt = (share) =>
      members.map((name) => steps.findLast(({ target, at }) => target === name && at <= share * seconds)?.to);
    expect(new Set(lastAt(0.6))).toEqual(new Set(['new']));
    expect(new Set(lastAt(1))).toEqual(new Set(['old']));
    expect(faults.every(({ at }, index) => at >= (faults[index - 1]?.at ?? 0) && at < seconds)).toBe(true);
  });

  it('kills a worker of each release while both are there', () => {
    const kills = faultsOf(plan, 'kill');
    const killed = kills.map(({ target, at }) => releasesAt(at / plan.seconds)[members.indexOf(target)]);
    expect(killed).toEqual(['old', 'new']);
  });

  it('has no other faults, and no poison', () => {
    expect(new Set(plan.faults.map(({ kind }) => kind))).toEqual(new Set(['migrate', 'release', 'kill']));
    expect(recipientsOf(plan).filter(({ kind }) => kind === 'poison')).toEqual([]);
    expect(plan.faults.every(({ at }) => at < plan.seconds)).toBe(true);
  });
});
