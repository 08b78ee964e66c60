import { HeldLookup } from './held-destinations.service';

const until = new Date('2026-03-01T12:00:00Z');
const GROUPS = [
  {
    key: 'mx1.a.example',
    mxHosts: ['mx1.a.example', 'mx2.a.example'],
    domains: ['a.example'],
    state: 'paused',
    rules: [],
  },
  {
    key: 'mx.b.example',
    mxHosts: ['mx.b.example'],
    domains: ['b.example'],
    state: 'slowed',
    until,
    cause: '421',
    rules: [],
  },
  { key: 'mx.c.example', mxHosts: ['mx.c.example'], domains: ['c.example'], state: 'open', rules: [] },
  { key: 'd.example', mxHosts: [], domains: [], state: 'probing', rules: [] },
] as const;

const RULES = {
  stop: { id: '1', source: 'operator', effect: 'paused', cause: 'why', since: until },
  slower: { id: '2', source: 'operator', effect: '2 max connections', cause: 'why', since: until },
  learned: { id: '3', source: 'reply', effect: '2 max connections', cause: '421', since: until },
} as const;

describe('HeldLookup', () => {
  const held = new HeldLookup(GROUPS);

  it('names the groups, unless all mail goes by one hop', () => {
    expect(held.keys).toEqual(['mx1.a.example', 'mx.b.example', 'd.example']);
    expect(new HeldLookup(GROUPS, 'relay.example').keys).toEqual([]);
  });

  it('finds a group by a mail exchanger, a domain, or its key', () => {
    expect(held.of('a.example')).toEqual({ state: 'paused' });
    expect(held.of('unknown.example', 'mx2.a.example')).toEqual({ state: 'paused' });
    expect(held.of('b.example', 'mx9.example')).toEqual({ state: 'slowed', until, cause: '421' });
    expect(held.of('d.example')).toEqual({ state: 'probing' });
  });

  it('finds the one next hop of all mail, whatever its domain', () => {
    const hop = { key: 'relay.example', mxHosts: [], domains: ['a.example'], rules: [] };
    expect(new HeldLookup([{ ...hop, state: 'paused' }], 'relay.example').of('new.example')).toEqual({
      state: 'paused',
    });
    expect(new HeldLookup(GROUPS, 'relay.example').of('new.example')).toBeUndefined();
  });

  it('holds back no other mail, and counts those that it holds back', () => {
    expect([held.of('c.example'), held.of('unknown.example'), held.of('x.example', 'mx.c.example')]).toEqual([
      ...[undefined, undefined, undefined],
    ]);
    expect(held.counts).toEqual({ paused: 1, slowed: 1, probing: 1 });
  });

  it.each([
    ['paused', ['slower', 'stop'], { since: until, effect: 'paused' }],
    ['slowed', ['slower'], { since: until, effect: '2 max connections' }],
    // What workers have met themselves.
    ['paused', ['slower'], undefined],
    ['probing', ['slower'], undefined],
    ['slowed', ['learned', 'slower'], undefined],
    ['slowed', [], undefined],
  ] as const)('says that an operator wants it: %s by %j', (state, names, operator) => {
    const rules = names.map((name) => RULES[name]);
    const lookup = new HeldLookup([{ key: 'mx.e.example', mxHosts: [], domains: [], state, rules, cause: 'why' }]);
    expect(lookup.of('mx.e.example')).toEqual({
      state,
      cause: 'why',
      ...(operator && { operator: expect.objectContaining(operator) }),
    });
  });
});
