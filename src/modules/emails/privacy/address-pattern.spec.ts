import fc from 'fast-check';
import { addressPattern } from './address-pattern';

const clean = (email: string, text: string) => text.replace(new RegExp(addressPattern(email), 'g'), '[erased]');

describe('an address within a text', () => {
  it.each([
    ['To ann@x.example, hello', 'To [erased], hello'],
    ['<ANN@X.Example>', '<[erased]>'],
    ['mailto:ann@x.example.', 'mailto:[erased].'],
    ['https://shop.example/?email=ann%40x.example&a=1', 'https://shop.example/?email=[erased]&a=1'],
    ['?to=https%3A%2F%2Fs.example%2F%3Fe%3Dann%2540x.example', '?to=https%3A%2F%2Fs.example%2F%3Fe%3D[erased]'],
    ['ann&#64;x.example ann&#x40;x.example ann&commat;x.example', '[erased] [erased] [erased]'],
    ['ann@x.example/ann@x.example', '[erased]/[erased]'],
    ['ann@x.example.pdf', '[erased].pdf'],
  ])('%s', (text, cleaned) => {
    expect(clean('ann@x.example', text)).toBe(cleaned);
  });

  it.each(['joann@x.example', 'ann@x.examples', 'mary.ann@x.example', 'ann@xyexample', 'ann x.example'])(
    '%s is another',
    (text) => {
      expect(clean('ann@x.example', text)).toBe(text);
    },
  );

  it('is found with its domain in either form', () => {
    expect(clean('ann@xn--bcher-kva.example', 'ann@bücher.example ann@BÜCHER.example Ann@xn--bcher-kva.example')).toBe(
      '[erased] [erased] [erased]',
    );
  });

  it('is found in every spelling, whatever it is made of', () => {
    const character = fc.constantFrom(...'abzAZ09!#$%&*+/=?^_`{|}~-éЖ');
    const email = fc.string({ unit: character, minLength: 1, maxLength: 12 }).map((local) => `${local}@x-1.example`);
    fc.assert(
      fc.property(email, (address) => {
        const spelled = [address, address.toUpperCase(), address.toLowerCase(), encodeURIComponent(address)];
        expect(spelled.map((text) => clean(address, `(${text})`))).toEqual(spelled.map(() => '([erased])'));
      }),
    );
  });
});
