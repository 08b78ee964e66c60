import { claimOf } from '../../../test/setup/recipient-copies';
import { FakeClock } from '../../../test/doubles/fake-clock';
import { HOUR } from '../../common/clock';
import { EgressAddressesCheck, EgressPools, type EgressSource } from './egress-pools';
import { parseEgressPools } from './pool-file';

const ACME = '0197a3f2-6c1e-7b60-9d52-3f1c0e6a4b28';
const BOTH = [4, 6];
const address = (last: number) => ({ address: `127.0.0.${last}`, ehlo: `out${last}.example.org` });
const OWN = { name: 'acme', addresses: [address(2), address(3)], organizations: [ACME] };
const BULK = { name: 'news', addresses: [address(4)], category: 'bulk' };

describe('the file of pools', () => {
  it('says which addresses there are, and whose mail leaves from them', () => {
    expect(parseEgressPools([OWN, BULK])).toEqual([OWN, { ...BULK, organizations: [] }]);
    expect(parseEgressPools([])).toEqual([]);
    const known = {
      ...OWN,
      addresses: [
        { ...address(2), warmUp: false },
        { ...address(3), warmUp: true },
      ],
    };
    expect(parseEgressPools([known])[0]?.addresses).toEqual([{ ...address(2), warmUp: false }, address(3)]);
  });

  it.each([
    [{}, 'must be an array'],
    [['x'], 'pool 1: must be an object'],
    [[{ ...OWN, colour: 'red' }], 'pool "acme": unknown field colour'],
    [[{ ...OWN, name: 'a b' }], 'name must be'],
    [[{ ...OWN, name: 'default' }], "default is the name of the system's choice"],
    [[{ ...OWN, addresses: [] }], 'addresses must be an array'],
    [
      [{ ...OWN, addresses: [{ address: 'mail.example.org', ehlo: 'a.example' }] }],
      'mail.example.org is no IP address',
    ],
    [[{ ...OWN, addresses: [{ address: '127.0.0.2' }] }], 'the ehlo of 127.0.0.2 must be a host name'],
    [[{ ...OWN, addresses: [{ ...address(2), ehlo: 'a b\r\nQUIT' }] }], 'must be a host name'],
    [[{ ...OWN, addresses: [{ ...address(2), warmUp: 'no' }] }], 'the warmUp of 127.0.0.2 must be true or false'],
    [[{ ...OWN, organizations: ['acme'] }], 'organizations must be an array of ids'],
    [[{ ...OWN, category: 'all' }], 'category must be transactional or bulk'],
    [[OWN, { ...BULK, name: 'acme' }], 'the name acme is there twice'],
    [[BULK, { ...BULK, name: 'other', addresses: [address(9)] }], 'the category bulk is there twice'],
    [[OWN, { ...BULK, addresses: [address(2)] }], 'the address 127.0.0.2 is there twice'],
  ])('refuses %j', (json, message) => {
    expect(() => parseEgressPools(json)).toThrow(message);
  });
});

describe('a worker', () => {
  const check = (...pools: unknown[]) =>
    new EgressAddressesCheck(new EgressPools(parseEgressPools(pools), new FakeClock())).onModuleInit();

  it('starts with addresses of its machine', async () => {
    await expect(check(OWN, BULK)).resolves.toBeUndefined();
  });

  it('refuses to start with others, naming them', async () => {
    const far = { name: 'far', addresses: [{ address: '192.0.2.1', ehlo: 'far.example.org' }] };
    await expect(check(OWN, far)).rejects.toThrow(
      'EGRESS_POOLS: the address 192.0.2.1 of pool "far" cannot be used: EADDRNOTAVAIL',
    );
  });
});

describe('a mail', () => {
  function setUp() {
    const clock = new FakeClock();
    const egress = new EgressPools(parseEgressPools([OWN, BULK]), clock);
    const next = (fields: object, key = 'mx', families: readonly number[] = BOTH) => {
      const source = egress.next(claimOf(0, fields), { key, families });
      return typeof source === 'object' ? source.address : source;
    };
    const sourceOf = (last: number): EgressSource => ({ ...address(last), pool: 'acme' });
    return { clock, egress, next, sourceOf };
  }

  it('leaves from the pool of its organization, in turn, else from that of its category, else from anywhere', () => {
    const { next } = setUp();
    const own = { organizationId: ACME, category: 'bulk' };
    expect([next(own), next(own), next(own)]).toEqual(['127.0.0.2', '127.0.0.3', '127.0.0.2']);
    expect(next({ category: 'bulk' })).toBe('127.0.0.4');
    expect(next({ category: 'transactional' })).toBeUndefined();
  });

  it('leaves from no address that its receiver refuses, for an hour', () => {
    const { clock, egress, next, sourceOf } = setUp();
    const own = { organizationId: ACME };
    egress.suspend(sourceOf(2), 'mx', '554 5.7.1 listed');
    expect([next(own), next(own), next(own, 'other')]).toEqual(['127.0.0.3', '127.0.0.3', '127.0.0.2']);
    egress.suspend(sourceOf(3), 'mx', '554 5.7.1 listed');
    expect(next(own)).toBe('none');
    expect(egress.drainChanges().map((one) => one.address)).toEqual(['127.0.0.2', '127.0.0.3']);
    expect(egress.drainChanges()).toEqual([]);
    clock.advance(HOUR);
    expect(next(own)).not.toBe('none');
  });

  it('applies what other workers have met, and forgets what is over', () => {
    const { egress, next } = setUp();
    egress.applyAll([{ address: '127.0.0.4', key: 'mx', forMs: HOUR }]);
    expect(next({ category: 'bulk' })).toBe('none');
    egress.applyAll([]);
    expect(next({ category: 'bulk' })).toBe('127.0.0.4');
  });

  it('leaves from no address whose refusal the others do not know of yet', () => {
    const { egress, next, sourceOf } = setUp();
    egress.suspend(sourceOf(4), 'mx', '554 5.7.1 listed');
    egress.applyAll([]);
    expect(next({ category: 'bulk' })).toBe('none');
    egress.restoreChanges(egress.drainChanges());
    egress.applyAll([]);
    expect(next({ category: 'bulk' })).toBe('none');
  });

  it('leaves from an address of a family that its receiver has', () => {
    const { next } = setUp();
    expect(next({ category: 'bulk' }, 'mx', [6])).toBe('none');
    expect(next({ category: 'bulk' }, 'mx', [4])).toBe('127.0.0.4');
  });

  it('leaves from the family that its receiver prefers, as long as there is one of it', () => {
    const six = { address: '::1', ehlo: 'six.example.org' };
    const egress = new EgressPools(parseEgressPools([{ ...OWN, addresses: [address(2), six] }]), new FakeClock());
    const claim = claimOf(0, { organizationId: ACME });
    const next = (...families: number[]) => egress.next(claim, { key: 'mx', families });
    expect([next(6, 4), next(6, 4), next(4, 6)]).toMatchObject([
      { address: '::1' },
      { address: '::1' },
      { address: '127.0.0.2' },
    ]);
    egress.suspend({ ...six, pool: 'acme' }, 'mx', '554');
    expect(next(6, 4)).toMatchObject({ address: '127.0.0.2' });
    expect(next(6)).toBe('none');
  });

  it('leaves not by the choice of the system where that is refused, if others have addresses of their own', () => {
    const { clock, egress, next } = setUp();
    egress.suspend(undefined, 'mx', '554 5.7.1 listed');
    const rest = { category: 'transactional' };
    expect([next(rest), next(rest, 'other'), next({ organizationId: ACME })]).toEqual(['none', undefined, '127.0.0.2']);
    expect(egress.drainChanges()).toMatchObject([{ address: 'default', key: 'mx', forMs: HOUR }]);
    clock.advance(HOUR);
    expect(next(rest)).toBeUndefined();
  });

  it('is not held back here where there is no other address: the receiver as such is paused', () => {
    const egress = new EgressPools([], new FakeClock());
    egress.suspend(undefined, 'mx', '554 5.7.1 listed');
    expect(egress.next(claimOf(0, {}), { key: 'mx', families: BOTH })).toBeUndefined();
    expect(egress.drainChanges()).toMatchObject([{ address: 'default', key: 'mx' }]);
  });
});
