import fc from 'fast-check';
import { hygieneWarnings } from './list-hygiene';
import { anyCharacter } from '../../../../../test/factories/any-character';

describe('hygieneWarnings', () => {
  it.each([
    ['info@shop.example', ['"info@" names a role']],
    ['No-Reply@shop.example', ['"no-reply@" names a role']],
    ['ann@mailinator.com', ['mailinator.com gives out mailboxes']],
    ['ann@gmial.com', ['gmial.com looks like a slip: did you mean gmail.com?']],
    ['ann@gmail.co', ['did you mean gmail.com?']],
    ['ann@hotmial.com', ['did you mean hotmail.com?']],
    ['ann@outlok.com', ['did you mean outlook.com?']],
    ['ann@yaho.com', ['did you mean yahoo.com?']],
    ['ann@gmail.con', ['did you mean gmail.com?']],
    ['postmaster@gmaill.com', ['"postmaster@" names a role', 'did you mean gmail.com?']],
  ])('warns of %s', (address, expected) => {
    const warnings = hygieneWarnings([address]);
    expect(warnings).toEqual(expected.map((text) => expect.stringContaining(text)));
  });

  it.each([
    'ann@gmail.com',
    'ann@mail.com',
    'ann@ymail.com',
    'information@shop.example',
    'ann@example.com',
    'ann@yahoo.co.uk',
  ])('has nothing to say of %s', (address) => expect(hygieneWarnings([address])).toEqual([]));

  it('says the same thing once, and names no person', () => {
    const warnings = hygieneWarnings([
      'ann.smith@gmial.com',
      'bob.jones@gmial.com',
      'info@a.example',
      'info@b.example',
    ]);
    expect(warnings).toHaveLength(2);
    expect(warnings.join()).not.toMatch(/smith|jones|example/);
  });

  it('takes any address', () => {
    const part = fc.string({ unit: anyCharacter, minLength: 1, maxLength: 64 });
    fc.assert(fc.property(part, part, (local, domain) => void hygieneWarnings([`${local}@${domain}`])));
  });
});
