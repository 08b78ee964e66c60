import { loggablePath } from './request';

describe('loggablePath', () => {
  it.each([
    ['/v1/email', '/v1/email'],
    ['/v1/emails/0190a1b2-0000-7000-8000-000000000001/x', '/v1/emails/0190a1b2-0000-7000-8000-000000000001/x'],
    ['/v1/emails/?to=jane@example.com', '/v1/emails/'],
    ['/.env', '/.env'],
    ['/v2/suppressions/jane@example.com', '/v2/suppressions/…'],
    ['/v2/suppressions/jane%40example.com', '/v2/suppressions/…'],
    [`/q/${'k'.repeat(41)}`, '/q/…'],
    ['/x\u001b[31m', '/…'],
    [`/${'a/'.repeat(500)}`, `/${'a/'.repeat(99)}a`],
  ])('shows of %j what is neither personal nor secret', (url, path) => expect(loggablePath(url)).toBe(path));
});
