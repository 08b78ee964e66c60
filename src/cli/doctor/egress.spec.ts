import { NULL_MX, type Route, Router } from '../../delivery/routing/router';
import { findTarget, parseSmtpHost } from './egress';

describe('parseSmtpHost', () => {
  it.each([
    ['mx.example.com', { host: 'mx.example.com', port: undefined }],
    ['mx.example.com:2525', { host: 'mx.example.com', port: 2525 }],
    ['192.0.2.1', { host: '192.0.2.1', port: undefined }],
    ['[2001:db8::1]', { host: '2001:db8::1', port: undefined }],
    ['[2001:db8::1]:26', { host: '2001:db8::1', port: 26 }],
  ])('reads %s', (text, target) => expect(parseSmtpHost(text)).toEqual(target));

  it.each(['', ':25', 'a:b', 'a:0', 'a:70000', '2001:db8::1', 'a b', '[]'])('refuses %j', (text) =>
    expect(() => parseSmtpHost(text)).toThrow('It must be host[:port].'),
  );
});

describe('findTarget', () => {
  class TableRouter extends Router {
    readonly asked: string[] = [];

    override resolve(destination: string): Promise<Route> {
      this.asked.push(destination);
      const hosts = [{ hostName: 'mx.example.com', addresses: ['192.0.2.1', '192.0.2.2'], preference: 10 }];
      const isFound = destination === 'example.com';
      return Promise.resolve(isFound ? { kind: 'hosts', hosts, port: 25, final: true } : NULL_MX);
    }
  }

  it('asks the registrable domain where the subdomain takes no mail', async () => {
    const router = new TableRouter();
    const target = { host: 'mx.example.com', port: 25, addresses: ['192.0.2.1', '192.0.2.2'] };
    await expect(findTarget(router, 'mail.example.com')).resolves.toEqual(target);
    expect(router.asked).toEqual(['mail.example.com', 'example.com']);
  });

  it('says why there is none', async () => {
    await expect(findTarget(new TableRouter(), 'example.org')).resolves.toBe(
      'example.org: The domain accepts no mail (null MX).',
    );
  });
});
