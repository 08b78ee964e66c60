import fc from 'fast-check';
import { AppError } from '../../../../common/errors/app-error';
import { AcceptPlan } from './accept-plan';
import {
  canonicalJson,
  fingerprint,
  type IdempotencyClaim,
  idempotencyKeyOf,
  isIdempotencyKey,
  keyName,
} from '../request/idempotency';
import type {
  AcceptCommand,
  AcceptedEmail,
  ItemResult,
  KeyState,
  RefusedItem,
  ScreenedSubmission,
} from '../request/send-request';

const claimOf = (key: string, body: unknown = 'body'): IdempotencyClaim => ({
  organizationId: 'o',
  mode: 'live',
  path: '/v1/emails',
  key,
  fingerprint: fingerprint(body),
});
const email = (id: string, scheduledAt?: Date): AcceptedEmail => ({
  id,
  command: { kind: 'command', request: { scheduledAt } } as unknown as AcceptCommand,
  recipients: [],
  suppressed: [{ email: 's@x.example', reason: 'manual' }],
});
const accepted = (id: string) => ({
  ...{ kind: 'accepted', id, status: 'queued' },
  suppressed: [{ email: 's@x.example', reason: 'manual' }],
});
const refused = (code: RefusedItem['code']): RefusedItem => ({ kind: 'refused', code, message: code });
const quota = new AppError('rate_limit_exceeded', 'Too much', { retryAfterSeconds: 9 });
const stored = (response: ItemResult | ItemResult[]): KeyState => ({ kind: 'stored', response });
const plan = (submissions: ScreenedSubmission[], states: [IdempotencyClaim, KeyState][] = []) =>
  new AcceptPlan(submissions, new Map(states));
const NONE = new Map<string, AppError>();

describe('a plan of submissions without keys', () => {
  it('writes each email and returns its result, in order', () => {
    const when = new Date('2026-03-01T12:00:00.000Z');
    const made = plan([
      { items: [{ outcome: email('a') }, { outcome: refused('domain_not_verified') }] },
      { items: [{ outcome: email('b', when) }] },
    ]);
    expect(made.emails().map(({ id }) => id)).toEqual(['a', 'b']);
    expect(made.results(NONE)).toEqual([
      { results: [accepted('a'), refused('domain_not_verified')], replayed: false },
      {
        results: [{ ...accepted('b'), status: 'scheduled', scheduledAt: '2026-03-01T12:00:00.000Z' }],
        replayed: false,
      },
    ]);
    expect(made.responsesToStore(NONE)).toEqual([]);
    const [first] = made.results(NONE) as { results: readonly ItemResult[] }[];
    expect(first?.results[0]).not.toHaveProperty('scheduledAt');
  });

  it('warns of recipients that are no persons, and leaves it out where there is nothing to warn of', () => {
    const recipients = ['ada@x.example', 'info@x.example'].map((to) => ({ email: to, kind: 'to' as const }));
    const items = [{ outcome: { ...email('a'), recipients } }, { outcome: email('b') }];
    const [made] = plan([{ items }]).results(NONE) as { results: readonly ItemResult[] }[];
    expect(made?.results[0]).toMatchObject({ warnings: [expect.stringContaining('"info@"')] });
    expect(made?.results[1]).not.toHaveProperty('warnings');
  });

  it('turns what a quota refuses into a refusal', () => {
    const made = plan([{ items: [{ outcome: email('a') }, { outcome: email('b') }] }]);
    expect(made.results(new Map([['b', quota]]))).toEqual([
      {
        results: [
          accepted('a'),
          { kind: 'refused', code: 'rate_limit_exceeded', message: 'Too much', retryAfterSeconds: 9 },
        ],
        replayed: false,
      },
    ]);
  });
});

describe('a key of a whole submission', () => {
  const claim = claimOf('k');
  const one = { items: [{ outcome: email('a') }], idempotency: claim };
  const ofBatch = { ...claim, ofBatch: true as const };
  const many = { items: [{ outcome: email('a') }, { outcome: refused('invalid_request') }], idempotency: ofBatch };

  it('that is free is remembered with the results', () => {
    for (const states of [[], [[claim, { kind: 'free' }]]] as [IdempotencyClaim, KeyState][][]) {
      const made = plan([one], states);
      expect(made.emails()).toHaveLength(1);
      expect(made.responsesToStore(NONE)).toEqual([{ claim, response: [accepted('a')] }]);
    }
  });

  it('returns what is stored, as a replay, and writes nothing', () => {
    for (const response of [accepted('old') as ItemResult, [accepted('old') as ItemResult]]) {
      const made = plan([one], [[claim, stored(response)]]);
      expect(made.emails()).toEqual([]);
      expect(made.results(NONE)).toEqual([{ results: [accepted('old')], replayed: true }]);
      expect(made.responsesToStore(NONE)).toEqual([]);
    }
  });

  it.each([
    [
      'reused',
      'idempotency_key_reused',
      { message: 'This idempotency key was used with another body', suggestion: 'Use a new key for a new request' },
    ],
    [
      'in_progress',
      'idempotency_in_progress',
      { message: 'The first request with this idempotency key is still running', retryAfterSeconds: 1 },
    ],
  ] as const)('that is %s refuses the request', (kind, code, more) => {
    const made = plan([one], [[claim, { kind }]]);
    const [result] = made.results(NONE);
    expect(result).toBeInstanceOf(AppError);
    expect(result).toMatchObject({ code, ...more });
    expect(made.emails()).toEqual([]);
    expect(made.responsesToStore(NONE)).toEqual([]);
  });

  it('of a single email is remembered only with a final result, of a batch always', () => {
    const single = (code: RefusedItem['code']) =>
      plan([{ items: [{ outcome: refused(code) }], idempotency: claim }]).responsesToStore(NONE);
    expect(single('invalid_request')).toEqual([]);
    expect(single('recipient_suppressed')).toEqual([{ claim, response: [refused('recipient_suppressed')] }]);
    expect(single('domain_not_verified')).toEqual([{ claim, response: [refused('domain_not_verified')] }]);
    expect(plan([one]).responsesToStore(new Map([['a', quota]]))).toEqual([]);
    expect(plan([many]).responsesToStore(NONE)).toEqual([
      { claim: ofBatch, response: [accepted('a'), refused('invalid_request')] },
    ]);
    const batchOfOne = { items: [{ outcome: refused('invalid_request') }], idempotency: ofBatch };
    expect(plan([batchOfOne]).responsesToStore(NONE)).toEqual([
      { claim: ofBatch, response: [refused('invalid_request')] },
    ]);
  });
});

describe('keys of items', () => {
  const [first, again, other] = [claimOf('k'), claimOf('k'), claimOf('k', 'another body')];

  it('count once in one request, and are refused with another body', () => {
    const made = plan([
      {
        items: [
          { outcome: email('a'), idempotency: first },
          { outcome: email('b'), idempotency: again },
        ],
      },
      { items: [{ outcome: email('c'), idempotency: other }] },
    ]);
    expect(made.emails().map(({ id }) => id)).toEqual(['a']);
    expect(made.results(NONE)).toMatchObject([
      { results: [accepted('a'), accepted('a')], replayed: false },
      { results: [{ kind: 'refused', code: 'idempotency_key_reused' }], replayed: false },
    ]);
    expect(made.responsesToStore(NONE)).toEqual([{ claim: first, response: accepted('a') }]);
  });

  it.each([
    ['stored', stored([accepted('old') as ItemResult]), accepted('old')],
    ['stored alone', stored(accepted('old') as ItemResult), accepted('old')],
    ['reused', { kind: 'reused' }, { kind: 'refused', code: 'idempotency_key_reused' }],
    [
      'in progress',
      { kind: 'in_progress' },
      { kind: 'refused', code: 'idempotency_in_progress', retryAfterSeconds: 1 },
    ],
  ] as [string, KeyState, object][])('that are %s leave the others alone', (_what, state, result) => {
    const made = plan(
      [{ items: [{ outcome: email('a'), idempotency: first }, { outcome: email('b') }] }],
      [[first, state]],
    );
    expect(made.emails().map(({ id }) => id)).toEqual(['b']);
    expect(made.results(NONE)).toMatchObject([{ results: [result, accepted('b')], replayed: false }]);
    expect(made.responsesToStore(NONE)).toEqual([]);
  });

  it('are remembered beside that of the request, when their result is final', () => {
    const whole = { ...claimOf('whole'), ofBatch: true as const };
    const made = plan([
      {
        items: [
          { outcome: email('a'), idempotency: first },
          { outcome: refused('invalid_request'), idempotency: claimOf('l') },
        ],
        idempotency: whole,
      },
    ]);
    expect(made.responsesToStore(NONE).map(({ claim }) => claim.key)).toEqual(['whole', 'k']);
    expect(made.responsesToStore(new Map([['a', quota]])).map(({ claim }) => claim.key)).toEqual(['whole']);
  });

  it('of other organizations, modes and paths are other keys', () => {
    const names = [{}, { organizationId: 'p' }, { mode: 'test' as const }, { path: '/v1/emails/batch' }, { key: 'l' }];
    expect(new Set(names.map((change) => keyName({ ...first, ...change }))).size).toBe(names.length);
    expect(keyName(first)).toBe('o live /v1/emails k');
  });
});

describe('an idempotency key', () => {
  it.each([
    ['k', true],
    [' ~', true],
    ['x'.repeat(255), true],
    ['x'.repeat(256), false],
    ['', false],
    ['a\nb', false],
    ['a\n', false],
    ['\u00e9', false],
    [['k'], false],
    [undefined, false],
  ])('%j: %s', (value, isOne) => {
    expect(isIdempotencyKey(value)).toBe(isOne);
  });

  it('comes from the header or from the body, and must be the same in both', () => {
    expect(idempotencyKeyOf(undefined, undefined)).toBeUndefined();
    expect(idempotencyKeyOf(undefined, 'b')).toBe('b');
    expect(idempotencyKeyOf('h', undefined)).toBe('h');
    expect(idempotencyKeyOf('h', 'h')).toBe('h');
    const refusalOf = (...given: Parameters<typeof idempotencyKeyOf>) => {
      try {
        return idempotencyKeyOf(...given);
      } catch (error) {
        return (error as AppError).details;
      }
    };
    expect(refusalOf('h', 'b')).toEqual({
      validation: { idempotencyKey: ['idempotencyKey must equal the header X-Idempotency-Key'] },
    });
    expect(refusalOf(['h', 'h'], 'h')).toEqual({
      validation: { 'X-Idempotency-Key': ['X-Idempotency-Key must be 1 to 255 printable ASCII characters'] },
    });
  });
});

describe('the fingerprint of a body', () => {
  it('is of the canonical JSON: names sorted, nothing that is undefined', () => {
    expect(canonicalJson({ b: [1, { d: null, c: 'x' }], a: undefined, A: true })).toBe(
      '{"A":true,"b":[1,{"c":"x","d":null}]}',
    );
    expect(canonicalJson([undefined, null])).toBe('[null,null]');
    expect(canonicalJson({ é: '"', e: [] })).toBe('{"e":[],"é":"\\""}');
  });

  it('does not depend on the order of names', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (body) => {
        const turned = Object.fromEntries(Object.entries(body).reverse());
        expect(fingerprint(turned)).toEqual(fingerprint(body));
        expect(fingerprint({ ...body, added: 1 })).not.toEqual(fingerprint({ ...body, added: 2 }));
      }),
    );
  });

  it('leaves out the key of the body, and only there', () => {
    expect(fingerprint({ a: 1, idempotencyKey: 'k' })).toEqual(fingerprint({ a: 1 }));
    expect(fingerprint({ a: { idempotencyKey: 'k' } })).not.toEqual(fingerprint({ a: {} }));
    expect(fingerprint([{ idempotencyKey: 'k' }])).not.toEqual(fingerprint([{}]));
    expect(fingerprint([1])).not.toEqual(fingerprint({ 0: 1 }));
    expect(fingerprint(null)).toEqual(fingerprint(undefined));
    expect(fingerprint('text').toString('hex')).toBe('1e1d0f251d3a76fa2b1bfc81164078572623403887db02988b504b0492e9f076'); // prettier-ignore
  });
});
