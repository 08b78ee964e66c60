import fc from 'fast-check';
import { parseSpf, type SpfMechanism, type SpfModifier, type SpfRecord } from './parse-spf';

function terms(text: string): SpfRecord {
  const parsed = parseSpf(text);
  if (!parsed.ok) throw new Error(`${parsed.term}: ${parsed.problem}`);
  return parsed.record;
}

const mechanism = (name: SpfMechanism['name'], rest: Partial<SpfMechanism> = {}): SpfMechanism => ({
  kind: 'mechanism',
  name,
  qualifier: '+',
  ...rest,
});

describe('an SPF record', () => {
  it.each<[string, SpfRecord]>([
    ['v=spf1', []],
    ['V=SPF1  -ALL ', [mechanism('all', { qualifier: '-' })]],
    ['v=spf1 include:_spf.a.example ~all', [mechanism('include', { value: '_spf.a.example' }), mechanism('all', { qualifier: '~' })]], // prettier-ignore
    ['v=spf1 a mx/24 a:b.example/24//64 mx//96', [mechanism('a'), mechanism('mx', { ip4Length: 24 }), mechanism('a', { value: 'b.example', ip4Length: 24, ip6Length: 64 }), mechanism('mx', { ip6Length: 96 })]], // prettier-ignore
    ['v=spf1 ip4:192.0.2.0/24 ip6:2001:db8::/32 ip6:::1', [mechanism('ip4', { value: '192.0.2.0', ip4Length: 24 }), mechanism('ip6', { value: '2001:db8::', ip6Length: 32 }), mechanism('ip6', { value: '::1' })]], // prettier-ignore
    ['v=spf1 ?ptr ptr:a.example', [mechanism('ptr', { qualifier: '?' }), mechanism('ptr', { value: 'a.example' })]],
    ['v=spf1 exists:%{ir}.%{v}._spf.%{d2}', [mechanism('exists', { value: '%{ir}.%{v}._spf.%{d2}' })]],
    ['v=spf1 redirect=_spf.a.example.', [{ kind: 'modifier', name: 'redirect', value: '_spf.a.example.' }]],
    ['v=spf1 Exp=why.%{d} x-new=%{c}/1 ', [{ kind: 'modifier', name: 'exp', value: 'why.%{d}' }, { kind: 'modifier', name: 'x-new', value: '%{c}/1' }]], // prettier-ignore
  ])('is read: %s', (text, record) => {
    expect(terms(text)).toEqual(record);
  });

  it.each([
    ['v=spf10', 'v=spf10'],
    ['spf1 a', 'spf1'],
    ['v=spf1 foo', 'foo'],
    ['v=spf1 a foo:b.example -all', 'foo:b.example'],
    ['v=spf1 all:x', 'all:x'],
    ['v=spf1 all/24', 'all/24'],
    ['v=spf1 include', 'include'],
    ['v=spf1 include:', 'include:'],
    ['v=spf1 include:localhost', 'include:localhost'],
    ['v=spf1 include:a.123', 'include:a.123'],
    ['v=spf1 include:a.example/24', 'include:a.example/24'],
    ['v=spf1 include=a.example', undefined],
    ['v=spf1 ++all', '++all'],
    ['v=spf1 ip4:192.0.2.256', 'ip4:192.0.2.256'],
    ['v=spf1 ip4:192.0.2.0/33', 'ip4:192.0.2.0/33'],
    ['v=spf1 ip4:192.0.2.0/024', 'ip4:192.0.2.0/024'],
    ['v=spf1 ip4:192.0.2.0//24', 'ip4:192.0.2.0//24'],
    ['v=spf1 ip4', 'ip4'],
    ['v=spf1 ip6:2001:db8::/129', 'ip6:2001:db8::/129'],
    ['v=spf1 ip6:fe80::1%eth0', 'ip6:fe80::1%eth0'],
    ['v=spf1 ip6:192.0.2.1', 'ip6:192.0.2.1'],
    ['v=spf1 a//129', 'a//129'],
    ['v=spf1 ptr/24', 'ptr/24'],
    ['v=spf1 exists:%{x}.example', 'exists:%{x}.example'],
    ['v=spf1 exists:%{d0}.example', 'exists:%{d0}.example'],
    ['v=spf1 exists:a%b.example', 'exists:a%b.example'],
    ['v=spf1 redirect=', 'redirect='],
    ['v=spf1 redirect=a.example redirect=b.example', 'redirect=b.example'],
    ['v=spf1 exp=a.example exp=a.example', 'exp=a.example'],
    ['v=spf1 -all;', '-all;'],
    ['v=spf1\ta', 'v=spf1\ta'],
    ['v=spf1 a,mx', 'a,mx'],
  ])('with an error is told by its term: %s', (text, term) => {
    const parsed = parseSpf(text);
    if (term === undefined) expect(parsed.ok).toBe(true);
    else expect(parsed).toMatchObject({ ok: false, term, problem: expect.stringMatching(/\w/) });
  });

  it('survives its text form', () => {
    fc.assert(fc.property(record(), (original) => expect(terms(formatSpf(original))).toEqual(original)));
  });

  it('is read or refused, never thrown at; what is read reads the same again', () => {
    const word = fc.constantFrom('v=spf1', ' ', 'a', 'mx', 'ip4', 'ip6', 'include', ':', '/', '//', '=', '%{d}', '%', '.', 'all', '-', '24', '192.0.2.1', '::', 'b.example', 'redirect', '\u0000', 'é'); // prettier-ignore
    const text = fc.array(word, { maxLength: 20 }).map((words) => `v=spf1 ${words.join('')}`);
    fc.assert(
      fc.property(fc.oneof(fc.string(), text), (any) => {
        const parsed = parseSpf(any);
        if (parsed.ok) expect(terms(formatSpf(parsed.record))).toEqual(parsed.record);
        else expect(parsed.problem).not.toBe('');
      }),
      { numRuns: 2_000 },
    );
  });

  it('is read in one pass, however long', () => {
    for (const part of ['%{', 'a.', '/2', '%{d}', '1.', '-']) {
      expect(parseSpf(`v=spf1 include:${part.repeat(20_000)}!`).ok).toBe(false);
      expect(parseSpf(`v=spf1 a:${part.repeat(20_000)}!/`).ok).toBe(false);
    }
  });
});

function record(): fc.Arbitrary<SpfRecord> {
  const domain = fc
    .tuple(fc.array(fc.constantFrom('_spf', 'a-b', 'x/y', '%{d}', '%{i1r.-}', '%%', '%_', '12'), { maxLength: 3 }), fc.domain())
    .map(([labels, name]) => [...labels, name].join('.')); // prettier-ignore
  const qualifier = fc.constantFrom('+', '-', '~', '?');
  const make = (shape: Record<string, fc.Arbitrary<unknown>>, required: string[]): fc.Arbitrary<SpfMechanism> =>
    fc.record({ kind: fc.constant('mechanism'), qualifier, ...shape }, { requiredKeys: ['kind', 'qualifier', ...required] as never }) as never; // prettier-ignore
  const [four, six] = [fc.nat(32), fc.nat(128)];
  const mechanisms = fc.oneof(
    make({ name: fc.constant('all') }, ['name']),
    make({ name: fc.constantFrom('include', 'exists'), value: domain }, ['name', 'value']),
    make({ name: fc.constant('ptr'), value: domain }, ['name']),
    make({ name: fc.constantFrom('a', 'mx'), value: domain, ip4Length: four, ip6Length: six }, ['name']),
    make({ name: fc.constant('ip4'), value: fc.ipV4(), ip4Length: four }, ['name', 'value']),
    make({ name: fc.constant('ip6'), value: fc.ipV6(), ip6Length: six }, ['name', 'value']),
  );
  const modifier = fc.record({
    kind: fc.constant('modifier' as const),
    name: fc.constantFrom('redirect', 'exp', 'x-other'),
    value: domain,
  });
  const isFirst = (term: SpfMechanism | SpfModifier, index: number, all: SpfRecord) =>
    term.kind === 'mechanism' || all.findIndex((other) => other.name === term.name) === index;
  return fc
    .array(fc.oneof(mechanisms, modifier), { maxLength: 8 })
    .map((all) => all.filter((term, index) => isFirst(term, index, all)));
}

/** The record's text, in lower case where case does not matter. */
function formatSpf(record: SpfRecord): string {
  return ['v=spf1', ...record.map(formatTerm)].join(' ');
}

function formatTerm(term: SpfMechanism | SpfModifier): string {
  if (term.kind === 'modifier') return `${term.name}=${term.value}`;
  const qualifier = term.qualifier === '+' ? '' : term.qualifier;
  const value = term.value === undefined ? '' : `:${term.value}`;
  const ip4 = term.ip4Length === undefined ? '' : `/${term.ip4Length}`;
  const slashes = term.name === 'ip6' ? '/' : '//';
  const ip6 = term.ip6Length === undefined ? '' : `${slashes}${term.ip6Length}`;
  return `${qualifier}${term.name}${value}${ip4}${ip6}`;
}
