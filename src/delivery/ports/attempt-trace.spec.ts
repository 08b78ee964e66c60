import { readPhase } from './attempt-trace';

describe('readPhase', () => {
  it.each([
    ['final-dot', 'final'],
    ['dot', 'final'],
    ['body', 'data'],
    ['banner', 'greeting'],
    ['ehlo', 'greeting'],
    ['starttls', 'tls'],
    ['routing', 'dns'],
    ['rcpt', 'rcpt'],
    ['quit', undefined],
    [undefined, undefined],
  ])('reads the stored name %s as %s', (stored, phase) => {
    expect(readPhase(stored)).toBe(phase);
  });
});
