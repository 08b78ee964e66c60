import { fromBase32, toBase32 } from './token-encoding';

const BYTES = Buffer.from('00443214c74254b635cf84653a56d7c675be77df', 'hex');
const TEXT = 'abcdefghijklmnopqrstuvwxyz234567';

describe('base32 of tokens', () => {
  it('has the alphabet of RFC 4648 in lower case, without padding, and is read in either case', () => {
    expect(toBase32(BYTES)).toBe(TEXT);
    expect(fromBase32(TEXT)).toEqual(BYTES);
    expect(fromBase32(TEXT.toUpperCase())).toEqual(BYTES);
    expect(toBase32(Buffer.from('f'))).toBe('my');
    expect(fromBase32('my')).toEqual(Buffer.from('f'));
  });

  it.each(['', 'mz', 'm', 'my======', 'm0', 'm1', 'm8', 'm y', 'mı', 'mſ'])('reads nothing in %j', (text) => {
    expect(fromBase32(text)).toBeUndefined();
  });
});
