import fc from 'fast-check';
import { DAY, HOUR } from '../../../common/clock';
import type { RecordCheck, RecordPurpose } from '../registry/wanted-records';
import { applyChecks, type Decision, type KeyState, type CheckResult } from './apply-checks';
import type { CheckedRecord, RecordState } from './record-state';

const START = new Date('2026-01-05T12:00:00.000Z');
const after = (ms: number) => new Date(START.getTime() + ms);

const SEEN: RecordCheck = { result: 'verified' };
const GONE: RecordCheck = { result: 'missing', problem: 'There is no such record' };
const SILENT: RecordCheck = { result: 'unreachable', problem: 'No answer' };

const FRESH: CheckResult['domain'] = {
  domain: 'acme.example',
  verificationStatus: 'pending',
  verifiedAt: null,
  dkimStatus: 'pending',
  returnPathVerified: false,
  trackingVerified: false,
};
const ACTIVE: KeyState = { selector: 'wb1', state: 'active', createdAt: START };
const PENDING: KeyState = { selector: 'wb2', state: 'pending', createdAt: START };

const HOSTS = {
  verification: '_waybill.acme.example',
  wb1: 'wb1._domainkey.acme.example',
  wb2: 'wb2._domainkey.acme.example',
  return_path: 'bounce.acme.example',
  tracking: 'click.acme.example',
};
type Name = keyof typeof HOSTS;
type Checks = Partial<Record<Name, RecordCheck>>;

function checkedRecords(checks: Checks): CheckedRecord[] {
  return Object.entries(checks).map(([name, check]) => {
    const purpose: RecordPurpose = name.startsWith('wb') ? 'dkim' : (name as RecordPurpose);
    return { record: { purpose, type: 'TXT', host: HOSTS[name as Name], value: 'x', ttlSeconds: 300 }, check };
  });
}

/** A domain under a sequence of checks, with the decision of each. */
class Course {
  domain: CheckResult['domain'];
  states: readonly RecordState[] = [];

  constructor(
    domain: Partial<CheckResult['domain']> = {},
    public keys: KeyState[] = [ACTIVE],
  ) {
    this.domain = { ...FRESH, ...domain };
  }

  check(atMs: number, checks: Checks, isNameTaken = false): Decision {
    const checked = checkedRecords(checks);
    const decision = applyChecks({ domain: this.domain, known: this.states, keys: this.keys, checked, isNameTaken }, after(atMs)); // prettier-ignore
    this.domain = { ...this.domain, ...decision.change };
    this.states = decision.states;
    if (decision.activated === 'wb2') {
      this.keys = [
        { ...ACTIVE, state: 'retiring' },
        { ...PENDING, state: 'active' },
      ];
    }
    return decision;
  }
}

describe('ownership', () => {
  it('is verified by its record alone, at once', () => {
    const course = new Course();
    expect(course.check(0, { verification: GONE, wb1: GONE }).transitions).toEqual([]);
    const { transitions, change } = course.check(HOUR, { verification: SEEN, wb1: GONE });
    expect(transitions).toEqual(['domain.verified']);
    expect(change).toMatchObject({ verificationStatus: 'verified', verifiedAt: after(HOUR), dkimStatus: 'pending' });
    expect(course.check(2 * HOUR, { verification: SEEN, wb1: GONE }).transitions).toEqual([]);
    expect(course.domain.verifiedAt).toEqual(after(HOUR));
  });

  it('fails after the record has been gone for 72 hours, and not before', () => {
    const course = new Course();
    course.check(0, { verification: SEEN });
    expect(course.check(HOUR, { verification: GONE }).change.verificationFailingSince).toEqual(after(HOUR));
    expect(course.check(73 * HOUR - 1, { verification: GONE }).change.verificationStatus).toBe('verified');
    const { transitions, change } = course.check(73 * HOUR, { verification: GONE });
    expect(transitions).toEqual(['domain.failed']);
    expect(change).toMatchObject({ verificationStatus: 'failed', verificationFailingSince: null });
    expect(course.check(80 * HOUR, { verification: SEEN }).transitions).toEqual(['domain.verified']);
    expect(course.domain.verifiedAt).toEqual(after(80 * HOUR));
  });

  it('begins its patience anew when the record has been back', () => {
    const course = new Course();
    course.check(0, { verification: SEEN });
    course.check(HOUR, { verification: GONE });
    course.check(70 * HOUR, { verification: SEEN });
    course.check(71 * HOUR, { verification: { result: 'wrong', problem: 'Another' } });
    expect(course.check(142 * HOUR, { verification: GONE }).transitions).toEqual([]);
    expect(course.check(143 * HOUR, { verification: GONE }).transitions).toEqual(['domain.failed']);
  });

  it('is not lost by an answer that does not come, nor saved from the next one that does', () => {
    const course = new Course();
    course.check(0, { verification: SEEN });
    course.check(HOUR, { verification: GONE });
    const silent = course.check(200 * HOUR, { verification: SILENT });
    expect(silent.change).toMatchObject({ verificationStatus: 'verified', verificationFailingSince: after(HOUR) });
    expect(course.check(201 * HOUR, { verification: GONE }).transitions).toEqual(['domain.failed']);
  });

  it('stays with a domain that the operator vouches for, whose record never was there', () => {
    const course = new Course({ verificationStatus: 'verified', verifiedAt: START, dkimStatus: 'verified' });
    for (let day = 0; day < 30; day += 1) {
      expect(course.check(day * DAY, { verification: GONE, wb1: GONE }).transitions).toEqual([]);
    }
  });

  it('stays when the operator vouches for a domain that has failed', () => {
    const course = new Course();
    course.check(0, { verification: SEEN });
    course.check(HOUR, { verification: GONE });
    course.check(73 * HOUR, { verification: GONE });
    course.domain = { ...course.domain, verificationStatus: 'verified' };
    expect(course.check(200 * HOUR, { verification: GONE }).transitions).toEqual([]);
  });

  it('is refused while another organization has the name', () => {
    const course = new Course();
    const { states, transitions } = course.check(0, { verification: SEEN }, true);
    expect(transitions).toEqual([]);
    expect(states[0]).toMatchObject({
      result: 'wrong',
      verified: false,
      problem: 'acme.example has been verified by another organization of this service',
    });
    expect(course.check(HOUR, { verification: SEEN }).transitions).toEqual(['domain.verified']);
  });
});

describe('the key', () => {
  it('is verified, fails and recovers like ownership', () => {
    const course = new Course({ dkimStatus: null });
    expect(course.check(0, { wb1: GONE }).change.dkimStatus).toBeNull();
    expect(course.check(1, { wb1: SEEN }).transitions).toEqual(['dkim.verified']);
    expect(course.check(HOUR, { wb1: GONE }).change.dkimFailingSince).toEqual(after(HOUR));
    expect(course.check(73 * HOUR, { wb1: GONE }).transitions).toEqual(['dkim.failed']);
    expect(course.check(74 * HOUR, { wb1: SEEN }).transitions).toEqual(['dkim.verified']);
  });

  it('is taken over by a pending one as soon as its record is seen', () => {
    const course = new Course({ dkimStatus: 'verified' }, [ACTIVE, PENDING]);
    expect(course.check(0, { wb1: SEEN, wb2: GONE })).toMatchObject({ activated: undefined, transitions: [] });
    expect(course.check(1, { wb1: SEEN, wb2: SILENT })).toMatchObject({ activated: undefined, transitions: [] });
    expect(course.check(2, { wb1: GONE, wb2: SEEN })).toMatchObject({
      activated: 'wb2',
      transitions: ['dkim.activated'],
      change: { dkimStatus: 'verified', dkimFailingSince: null },
    });
  });

  it('keeps signing while its successor does not come, which fails the status after 72 hours', () => {
    const course = new Course({}, [ACTIVE, PENDING]);
    course.check(0, { wb1: SEEN, wb2: GONE });
    expect(course.check(72 * HOUR - 1, { wb1: SEEN, wb2: GONE }).transitions).toEqual([]);
    expect(course.check(72 * HOUR, { wb1: SEEN, wb2: SILENT }).transitions).toEqual([]);
    expect(course.check(73 * HOUR, { wb1: SEEN, wb2: GONE })).toMatchObject({ transitions: ['dkim.failed'], activated: undefined }); // prettier-ignore
    expect(course.check(74 * HOUR, { wb1: SEEN, wb2: GONE }).change.dkimStatus).toBe('failed');
    expect(course.check(75 * HOUR, { wb1: SEEN, wb2: SEEN })).toMatchObject({
      activated: 'wb2',
      transitions: ['dkim.activated', 'dkim.verified'],
    });
  });

  it('fails by an unfinished rotation even when the first record has come late', () => {
    const course = new Course({}, [ACTIVE, PENDING]);
    expect(course.check(71 * HOUR, { wb1: GONE, wb2: GONE }).change.dkimStatus).toBe('pending');
    expect(course.check(73 * HOUR, { wb1: SEEN, wb2: GONE }).transitions).toEqual(['dkim.failed']);
  });

  it('of a domain that the operator vouches for does not fail by a rotation that no DNS shows', () => {
    const course = new Course({ dkimStatus: 'verified' }, [ACTIVE, PENDING]);
    expect(course.check(100 * HOUR, { wb1: GONE, wb2: GONE }).transitions).toEqual([]);
  });
});

describe('the aliases', () => {
  it.each(['return_path', 'tracking'] as const)('of %s are used once seen, until gone for 72 hours', (name) => {
    const flag = name === 'tracking' ? 'trackingVerified' : 'returnPathVerified';
    const course = new Course();
    expect(course.check(0, { [name]: GONE }).transitions).toEqual([]);
    expect(course.check(1, { [name]: SEEN }).transitions).toEqual([`${name}.verified`]);
    expect(course.check(HOUR, { [name]: GONE }).change[flag]).toBe(true);
    expect(course.check(74 * HOUR, { [name]: GONE })).toMatchObject({
      change: { [flag]: false },
      transitions: [`${name}.failed`],
    });
  });
});

describe('a record', () => {
  it('is shown as the last answer said, whatever patience does', () => {
    const course = new Course();
    expect(course.check(0, { verification: SEEN }).states[0]).toMatchObject({ verified: true, problem: null });
    expect(course.check(1, { verification: SILENT }).states[0]).toMatchObject({
      verified: true,
      result: 'unreachable',
    });
    expect(course.check(2, { verification: GONE }).states[0]).toMatchObject({ verified: false, result: 'missing' });
    expect(course.check(3, { verification: SILENT }).states[0]).toMatchObject({ verified: false });
  });
});

describe('any course of checks', () => {
  const result = fc.constantFrom(SEEN, GONE, SILENT, { result: 'wrong', problem: 'Another' } as RecordCheck);
  const names = Object.keys(HOSTS) as Name[];
  const check = fc.tuple(fc.nat({ max: 100 }), fc.tuple(...names.map(() => result)));
  const checksOf = (results: readonly RecordCheck[]): Checks =>
    Object.fromEntries(names.map((name, index) => [name, results[index]]));

  it('never ends a status by unreachable answers', () => {
    fc.assert(
      fc.property(
        fc.array(check, { maxLength: 15 }),
        fc.array(fc.nat({ max: 100 }), { minLength: 1 }),
        (checks, silences) => {
          // prettier-ignore
          const course = new Course({}, [ACTIVE, PENDING]);
          let atMs = 0;
          for (const [hours, results] of checks) course.check((atMs += hours * HOUR), checksOf(results));
          const before = course.domain;
          for (const hours of silences) {
            const { transitions } = course.check((atMs += hours * HOUR), checksOf(names.map(() => SILENT)));
            expect(transitions).toEqual([]);
          }
          expect(course.domain).toMatchObject(before);
        },
      ),
    );
  });

  it('fails ownership exactly when it was seen and every answer of 72 hours denied it', () => {
    fc.assert(
      fc.property(fc.array(check, { maxLength: 40 }), (checks) => {
        const course = new Course();
        let atMs = 0;
        let goneSinceMs: number | undefined;
        let isVerified = false;
        for (const [hours, results] of checks) {
          atMs += hours * HOUR;
          const [check] = results;
          if (check?.result === 'verified') [isVerified, goneSinceMs] = [true, undefined];
          else if (check?.result !== 'unreachable' && isVerified) goneSinceMs ??= atMs;
          if (goneSinceMs !== undefined && check?.result !== 'unreachable' && atMs - goneSinceMs >= 72 * HOUR) {
            [isVerified, goneSinceMs] = [false, undefined];
          }
          course.check(atMs, checksOf(results));
          expect(course.domain.verificationStatus === 'verified').toBe(isVerified);
        }
      }),
    );
  });
});
