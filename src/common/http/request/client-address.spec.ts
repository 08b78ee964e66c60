import express, { type Request } from 'express';
import { clientAddressOf } from './client-address';

const PEER = '10.0.0.9';
/** Written by the client, then by the outer proxy (who saw 203.0.113.5), then by the inner one (who saw the outer). */
const CHAIN = '198.51.100.66, 203.0.113.5, 10.0.0.8';

function addressOf(trustProxy: boolean | number | readonly string[], forwarded?: string, peer = PEER): string {
  const app = express().set('trust proxy', trustProxy);
  const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded };
  const request = Object.assign(Object.create(app.request) as Request, { app, headers });
  return clientAddressOf(Object.defineProperty(request, 'socket', { value: { remoteAddress: peer } }));
}

describe('the client address', () => {
  it.each<[string, boolean | number | readonly string[], string | undefined, string]>([
    ['the peer when no proxy is trusted', false, CHAIN, PEER],
    ['the peer when nothing was forwarded', ['10.0.0.0/8'], undefined, PEER],
    ['what so many proxies vouch for', 2, CHAIN, '203.0.113.5'],
    ['what one proxy vouches for', 1, CHAIN, '10.0.0.8'],
    ['the last that is no trusted proxy', ['10.0.0.0/8'], CHAIN, '203.0.113.5'],
    ['the peer when that is no trusted proxy', ['192.0.2.0/24'], CHAIN, PEER],
    ['the left-most when everybody is trusted', true, CHAIN, '198.51.100.66'],
    ['without the port that a proxy writes', 1, '203.0.113.5:4711', '203.0.113.5'],
    ['of IPv6 without the port', 1, '[2001:db8::5]:4711', '2001:db8::5'],
    ['the peer for what is no address', true, '<script>', PEER],
    ['the peer for a long text', 1, 'x'.repeat(10_000), PEER],
  ])('is %s', (_what, trustProxy, forwarded, address) => expect(addressOf(trustProxy, forwarded)).toBe(address));

  it('knows a trusted IPv4 peer on a socket of IPv6', () => {
    expect(addressOf(['10.0.0.0/8'], CHAIN, '::ffff:10.0.0.9')).toBe('203.0.113.5');
  });
});
