import { withoutAddresses } from './without-addresses';

describe('withoutAddresses', () => {
  it.each([
    ['550 5.1.1 <ada@example.com>: unknown', '550 5.1.1 <[address]>: unknown'],
    ['to=ada%40example.com&x=1', 'to=[address]&x=1'],
    ['to=ada%2540example.com', 'to=[address]'],
    [String.raw`{"to":"ada\u0040example.com"}`, '{"to":"[address]"}'],
    [String.raw`"{\"to\":\"ada\\u0040example.com\"}"`, String.raw`"{\"to\":\"[address]\"}"`],
    [String.raw`{"to":"ada\u002Bnews@example.com"}`, '{"to":"[address]"}'],
    ['<b>ada&#64;example.com</b>', '<b>[address]</b>'],
    ['<b>ada&#x2b;news&#X40;example.com</b>', '<b>[address]</b>'],
    ['<b>ada&commat;example.com</b>', '<b>[address]</b>'],
    ['cut short: ada@', 'cut short: [address]'],
    ['nothing @ all', 'nothing @ all'],
    ['421 4.7.0 too many connections', '421 4.7.0 too many connections'],
  ])('of %j leaves %j', (text, left) => {
    expect(withoutAddresses(text)).toBe(left);
  });
});
