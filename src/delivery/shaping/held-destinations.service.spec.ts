import { HeldLookup } from './held-destinations.service';

const until = new Date('2026-03-01T12:00:00Z');
const GROUPS = [
  { key: 'mx1.a.example', mxHosts: ['mx1.a.example', 'mx2.a.example'], domains: ['a.example'], state: 'paused' },
  { key: 'mx.b.example', mxHosts: ['mx.b.example'], domains: ['b.example'], state: 'slowed', until, cause: '421' },
  { key: 'mx.c.example', mxHosts: ['mx.c.example'], domains: ['c.example'], state: 'open' },
  { key: 'd.example', mxHosts: [], domains: [], state: 'probing' },
] as const;

describe('HeldLookup', () => {
  const held = new HeldLookup(GROUPS);

  it('finds a group by a mail exchanger, a domain, or its key', () => {
    expect(held.of('a.example')).toEqual({ state: 'paused' });
    expect(held.of('unknown.example', 'mx2.a.example')).toEqual({ state: 'paused' });
    expect(held.of('b.example', 'mx9.example')).toEqual({ state: 'slowed', until, cause: '421' });
    expect(held.of('d.example')).toEqual({ state: 'probing' });
  });

  it('holds back nobody else, and counts those that it holds back', () => {
    expect([held.of('c.example'), held.of('unknown.example'), held.of('x.example', 'mx.c.example')]).toEqual([
      ...[undefined, undefined, undefined],
    ]);
    expect(held.counts).toEqual({ paused: 1, slowed: 1, probing: 1 });
  });
});
