import { partsOf } from './format';

describe('partsOf', () => {
  it('breaks addresses behind @ and slashes and before dots', () => {
    expect(partsOf('ada.lovelace@mail.example.com')).toEqual(['ada', '.lovelace@', 'mail', '.example', '.com']);
    expect(partsOf('https://hooks.example/a?b=c&d')).toEqual(['https://', 'hooks', '.example/', 'a?', 'b=', 'c&', 'd']);
  });

  it('leaves sentences as they are', () => {
    const sentence = 'It waits for attempt 2... See why. ';
    expect(partsOf(sentence)).toEqual([sentence]);
    expect(partsOf('')).toEqual(['']);
  });
});
