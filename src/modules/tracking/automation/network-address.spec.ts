import fc from 'fast-check';
import { truncateAddress } from './network-address';

describe('truncateAddress', () => {
  it.each([
    ['203.0.113.77', '203.0.113.0'],
    ['::ffff:203.0.113.77', '203.0.113.0'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1::'],
    ['fe80::1%eth0', 'fe80::'],
    ['::1', '::'],
  ])('of %s leaves %s', (address, network) => expect(truncateAddress(address)).toBe(network));

  it.each(['', 'unknown', '203.0.113.77:80', '<script>'])('of %j leaves nothing', (address) =>
    expect(truncateAddress(address)).toBeUndefined(),
  );

  it('never holds what tells one client of a network from another', () => {
    fc.assert(
      fc.property(fc.ipV4(), fc.nat({ max: 255 }), (address, host) => {
        expect(truncateAddress(address.replace(/\d+$/, String(host)))).toBe(truncateAddress(address));
      }),
    );
    fc.assert(
      fc.property(fc.ipV6(), (address) => {
        const network = truncateAddress(address) ?? '';
        expect(truncateAddress(network)).toBe(network);
      }),
    );
  });

  it('takes any text', () => {
    fc.assert(fc.property(fc.string(), (text) => void truncateAddress(text)));
  });
});
