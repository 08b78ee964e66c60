import type { ExecutionContext } from '@nestjs/common';
import type { AppConfig } from '../../config/config';
import { MailboxAccessGuard } from './mailbox.controller';

const config = { delivery: { mode: 'local' }, http: { publicUrl: 'http://localhost:3000' } } as AppConfig;

function admits(remoteAddress: string | undefined, headers: Record<string, string> = {}): boolean {
  const request = { headers: { host: 'localhost:3000', ...headers }, socket: { remoteAddress } };
  const context = { switchToHttp: () => ({ getRequest: () => request }) } as unknown as ExecutionContext;
  try {
    return new MailboxAccessGuard(config).canActivate(context);
  } catch {
    return false;
  }
}

describe('MailboxAccessGuard', () => {
  it.each(['127.0.0.1', '127.8.9.1', '::1', '::ffff:127.0.0.1'])('admits a client at %s', (address) => {
    expect(admits(address)).toBe(true);
  });

  it.each(['10.0.0.7', '192.168.1.2', '203.0.113.9', '::ffff:203.0.113.9', '2001:db8::1', '', undefined])(
    'refuses a client at %s, whatever its Host header',
    (address) => {
      expect(admits(address)).toBe(false);
    },
  );

  it.each<Record<string, string>>([
    { 'x-forwarded-for': '203.0.113.9' },
    { forwarded: 'for=203.0.113.9' },
    { 'x-real-ip': '203.0.113.9' },
    { via: '1.1 proxy.example' },
    { host: 'rebound.example' },
  ])('refuses a request with %j', (headers) => {
    expect(admits('127.0.0.1', headers)).toBe(false);
  });
});
