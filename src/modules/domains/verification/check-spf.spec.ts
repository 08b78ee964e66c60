import fc from 'fast-check';
import type { DnsAnswer } from '../../../common/dns/dns-resolver';
import { checkSpf } from './check-spf';

const OURS = 'spf.waybill.test';

type Zones = Record<string, string[] | 'fails'>;

function setUp(zones: Zones) {
  const asked: string[] = [];
  const ask = (name: string): Promise<DnsAnswer<string>> => {
    asked.push(name);
    const records = zones[name];
    if (records === 'fails') return Promise.resolve({ kind: 'temporary', reason: 'ESERVFAIL' });
    return Promise.resolve(records ? { kind: 'found', records } : { kind: 'no-domain' });
  };
  return { asked, check: () => checkSpf('acme.example', OURS, ask) };
}

const check = (zones: Zones) => setUp(zones).check();
const of = (...records: string[]) => check({ 'acme.example': records });
const wrong = (problem: string) => ({ result: 'wrong', problem: expect.stringContaining(problem) });

describe('the SPF record of a domain', () => {
  it.each([
    `v=spf1 include:${OURS} ~all`,
    `v=spf1 a mx ip4:192.0.2.1 +include:${OURS.toUpperCase()}. -all`,
    `v=spf1 include:elsewhere.example include:${OURS} ?all`,
    `v=spf1 include:${OURS}`,
    `v=spf1 mx redirect=${OURS}`,
  ])('is verified by the include itself, without looking further: %s', async (text) => {
    const { asked, check } = setUp({ 'acme.example': ['some text', text] });
    expect(await check()).toEqual({ result: 'verified' });
    expect(asked).toEqual(['acme.example']);
  });

  it('is verified by an include within an include or a redirect', async () => {
    const zones = {
      'acme.example': ['v=spf1 include:a.example redirect=b.example'],
      'a.example': ['v=spf1 include:c.example -all'],
      'c.example': ['v=spf1 ip4:192.0.2.1 -all'],
      'b.example': [`v=spf1 a include:${OURS} -all`],
    };
    expect(await check(zones)).toEqual({ result: 'verified' });
  });

  it('is compared with texts of anyone in time that grows with their length', async () => {
    const steps = (length: number) => {
      const text = `${' '.repeat(length)}x`;
      return checkSpf('example.com', 'spf.waybill.example', () => Promise.resolve({ kind: 'found', records: [text] }));
    };
    // With a cubic expression this would take hours.
    expect((await steps(60_000)).result).toBe('missing');
  });

  it('is missing when there is none', async () => {
    expect(await check({})).toEqual({ result: 'missing', problem: 'There is no SPF record at acme.example' });
    expect(await of('v=spf10 -all', 'hello')).toMatchObject({ result: 'missing' });
  });

  it.each([
    ['without the include', ['v=spf1 mx -all'], `does not have include:${OURS}`],
    ['with the include after all', [`v=spf1 mx -all include:${OURS}`], `does not have include:${OURS}`],
    ['with a redirect that all makes void', [`v=spf1 ~all redirect=${OURS}`], `does not have include:${OURS}`],
    ['with the include negated', [`v=spf1 -include:${OURS} ~all`], 'negates'],
    ['that is there twice', [`v=spf1 include:${OURS} ~all`, 'v=spf1 mx ~all'], 'more than one SPF record'],
    ['that anyone may use', [`v=spf1 include:${OURS} +all`], '"+all"'],
    ['that anyone may use, unsaid', [`v=spf1 include:${OURS} all`], '"+all"'],
    [
      'with a wrong term',
      [`v=spf1 ipv4:192.0.2.1 include:${OURS} ~all`],
      '"ipv4:192.0.2.1": there is no such mechanism',
    ],
    ['that begins wrongly', [`spf1 include:${OURS} ~all`], 'must begin with "v=spf1 "'],
    ['in quotation marks', [`"v=spf1 include:${OURS} ~all"`], 'must begin with "v=spf1 "'],
    ['with ten look-ups before the include', [`v=spf1 ${'a '.repeat(10)}include:${OURS} ~all`], 'look-ups'],
  ])('is wrong %s', async (_what, records, problem) => {
    expect(await of(...records)).toEqual(wrong(problem));
  });

  it('allows nine look-ups before the include', async () => {
    expect(await of(`v=spf1 ${'a '.repeat(9)}include:${OURS} ~all`)).toEqual({ result: 'verified' });
  });

  it('is wrong when what it includes is: no record, two, an error', async () => {
    const own = { 'acme.example': ['v=spf1 include:a.example ~all'] };
    expect(await check(own)).toEqual(wrong('"a.example", which the SPF record includes, has no SPF record'));
    expect(await check({ ...own, 'a.example': ['v=spf1', 'v=spf1 a'] })).toEqual(wrong('more than one'));
    expect(await check({ ...own, 'a.example': ['v=spf1 foo'] })).toEqual(wrong('an error at "foo"'));
  });

  it('is not searched where a sender could not pass, nor where a macro stands', async () => {
    const { asked, check } = setUp({
      'acme.example': ['v=spf1 ?include:a.example include:%{d}.b.example ~all'],
      'a.example': [`v=spf1 include:${OURS} ~all`],
    });
    expect(await check()).toEqual(wrong(`does not have include:${OURS}`));
    expect(asked).toEqual(['acme.example']);
  });

  it('is wrong when it includes itself', async () => {
    const zones = {
      'acme.example': ['v=spf1 include:a.example ~all'],
      'a.example': ['v=spf1 include:acme.example ~all'],
    };
    expect(await check(zones)).toEqual(wrong('"acme.example", "a.example", "acme.example" include each other'));
  });

  it('is unknown while the DNS does not answer, its own or that of what it includes', async () => {
    expect(await check({ 'acme.example': 'fails' })).toMatchObject({ result: 'unreachable' });
    const zones: Zones = { 'acme.example': ['v=spf1 include:a.example ~all'], 'a.example': 'fails' };
    expect(await check(zones)).toMatchObject({ result: 'unreachable', problem: expect.stringContaining('a.example') });
  });

  it('is searched in at most eleven look-ups, whatever the zones are like', async () => {
    const name = fc.constantFrom('acme.example', 'a.example', 'b.example', 'c.example', 'd.example');
    const term = fc.oneof(
      name.map((target) => `include:${target}`),
      name.map((target) => `redirect=${target}`),
      fc.constantFrom('a', 'mx', '~all', `include:${OURS}`, '?include:a.example'),
      fc.string({ maxLength: 5 }),
    );
    const record = fc.array(term, { maxLength: 6 }).map((terms) => `v=spf1 ${terms.join(' ')}`);
    const zone = fc.oneof(fc.array(record, { maxLength: 2 }), fc.constant('fails' as const));
    await fc.assert(
      fc.asyncProperty(fc.dictionary(name, zone), async (zones) => {
        const { asked, check } = setUp(zones);
        expect(['verified', 'missing', 'wrong', 'unreachable']).toContain((await check()).result);
        expect(asked.length).toBeLessThanOrEqual(11);
      }),
      { numRuns: 500 },
    );
  });
});
