import { maskAddress } from './mask-address';

describe('maskAddress', () => {
  it.each([
    ['jane.doe@example.com', 'j***@example.com'],
    ['j@example.com', 'j***@example.com'],
    ['"a@b"@example.com', '"***@example.com'],
    ['😀smile@example.com', '😀***@example.com'],
    ['@example.com', '***@example.com'],
  ])('shows %s as %s', (email, masked) => {
    expect(maskAddress(email)).toBe(masked);
  });
});
