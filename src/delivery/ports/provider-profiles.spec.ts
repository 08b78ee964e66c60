import { PROVIDER_PROFILES, providerOf } from './provider-profiles';

describe('the receiver of a mail', () => {
  it.each([
    ['shop.example', 'aspmx.l.google.com', 'google'],
    ['gmail.com', undefined, 'google'],
    ['GMAIL.com', 'relay.mail.example.com', 'google'],
    ['shop.example', 'shop-example.mail.protection.outlook.com', 'microsoft-365'],
    ['outlook.com', 'outlook-com.olc.protection.outlook.com', 'microsoft-consumer'],
    ['shop.example', 'MX1.MAIL.ICLOUD.COM', 'apple'],
    ['shop.example', 'mx.shop.example', 'other'],
    ['shop.example', undefined, 'other'],
    // Not a host of it.
    ['shop.example', 'google.com.shop.example', 'other'],
    ['constructor', '__proto__', 'other'],
  ])('%s by way of %s is %s', (domain, host, provider) => {
    expect(providerOf(domain, host)).toBe(provider);
  });

  it('has one profile for each domain', () => {
    const domains = PROVIDER_PROFILES.flatMap(({ domains: own = [] }) => own);
    expect(new Set(domains).size).toBe(domains.length);
  });
});
