import { localMoment, momentIn, partsOf } from './format';

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

describe('what a field for a moment holds', () => {
  it('is a moment in the time zone of the reader', () => {
    const minute = Date.UTC(2026, 2, 4, 11, 59);
    expect(momentIn(localMoment(minute + 30_000))).toBe(new Date(minute).toISOString());
    expect(momentIn('')).toBeUndefined();
  });

  it('is left to the service to refuse where it is none, such as a year of five digits', () => {
    expect(momentIn('20261-01-01T00:00')).toBe('20261-01-01T00:00');
  });
});
