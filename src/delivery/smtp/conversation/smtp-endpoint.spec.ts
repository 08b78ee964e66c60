import { AppError } from '../../../common/errors/app-error';
import { assertHeloName, tlsOptionsFor } from './smtp-endpoint';
import type { SmtpEndpoint } from './smtp-endpoint';

const ENDPOINT: SmtpEndpoint = {
  address: '192.0.2.1',
  port: 25,
  hostName: 'mx.example.com',
  security: 'starttls',
  verifyCertificate: true,
};

describe('assertHeloName', () => {
  it.each([['mail.example.com'], ['[192.0.2.1]'], ['[IPv6:2001:db8::1]']])('takes %s', (name) => {
    expect(() => assertHeloName(name)).not.toThrow();
  });

  it.each([[''], ['a b'], ['a\r\nMAIL'], ['b\u00fccher.example'], ['a'.repeat(256)]])('refuses %j', (name) => {
    expect(() => assertHeloName(name)).toThrow(AppError);
  });
});

describe('tlsOptionsFor', () => {
  it('names the host, unless it is an address (RFC 6066)', () => {
    expect(tlsOptionsFor(ENDPOINT)).toMatchObject({ servername: 'mx.example.com', host: 'mx.example.com' });
    expect(tlsOptionsFor({ ...ENDPOINT, hostName: '192.0.2.1' }).servername).toBe('');
  });

  it.each([
    ['starttls', true, true],
    ['starttls', false, false],
    ['implicit', true, true],
    ['opportunistic', true, false],
  ] as const)('%s with verifyCertificate %s', (security, verifyCertificate, expected) => {
    expect(tlsOptionsFor({ ...ENDPOINT, security, verifyCertificate }).rejectUnauthorized).toBe(expected);
  });

  it('makes a context once', () => {
    expect(tlsOptionsFor(ENDPOINT).secureContext).toBe(tlsOptionsFor({ ...ENDPOINT }).secureContext);
  });
});
