import fc from 'fast-check';
import { ValidationError } from '../../../common/errors/app-error';
import { isOwnName, normalizeDomainName } from './domain-name';
import { anyCharacter } from '../../../../test/factories/any-character';

function refusalOf(text: string): unknown {
  try {
    return normalizeDomainName(text);
  } catch (error) {
    if (error instanceof ValidationError) return (error.details?.validation as { domain: string[] }).domain;
    throw error;
  }
}

const LONG = `${'a'.repeat(63)}.`.repeat(4);

describe('normalizeDomainName', () => {
  it.each([
    ['example.com', 'example.com', null],
    ['EXAMPLE.com.', 'example.com', null],
    ['mail.example.com', 'mail.example.com', 'mail'],
    ['a.b.example.co.uk', 'a.b.example.co.uk', 'a.b'],
    ['bücher.example', 'xn--bcher-kva.example', null],
    ['post.Bücher.example', 'post.xn--bcher-kva.example', 'post'],
    ['xn--bcher-kva.example', 'xn--bcher-kva.example', null],
    ['shop.someone.github.io', 'shop.someone.github.io', 'shop'],
    ['a.io', 'a.io', null],
    ['a.xn--p1ai', 'a.xn--p1ai', null],
    ['a.рф', 'a.xn--p1ai', null],
    [`${LONG.slice(0, 249)}.com`, `${LONG.slice(0, 249)}.com`, expect.any(String)],
  ])('takes %j', (text, domain, subdomain) => {
    expect(normalizeDomainName(text)).toEqual({ domain, subdomain });
  });

  it.each([
    ['', 'domain must be 4 to 253 characters long'],
    ['a.b', 'domain must be 4 to 253 characters long'],
    [`${LONG.slice(0, 250)}.com`, 'domain must be 4 to 253 characters long'],
    ['https://example.com/path', 'domain must be a name alone, without a protocol, a port or a path'],
    ['example.com:25', 'domain must be a name alone, without a protocol, a port or a path'],
    ['me@example.com', 'domain must be a domain, not an email address'],
    ['exa mple.com', 'domain must not contain white space or control characters'],
    [' example.com', 'domain must not contain white space or control characters'],
    ['example.com\n', 'domain must not contain white space or control characters'],
    ['example.com\u00a0', 'domain must not contain white space or control characters'],
    ['example.com\u0007', 'domain must not contain white space or control characters'],
    ['*.example.com', 'domain must be one name, not a pattern'],
    ['my_shop.example.com', 'domain must not contain underscores: no mail server has such a name'],
    ['mail..example.com', 'domain must not have an empty label'],
    ['.example.com', 'domain must not have an empty label'],
    ['example.com..', 'domain must not have an empty label'],
    ['192.0.2.25', 'domain must be a name, not an IP address'],
    [`${'a'.repeat(64)}.com`, 'domain must not have a label longer than 63 characters'],
    ['-a.example.com', 'domain must not have a label that begins or ends with a hyphen'],
    ['mail.example-.com', 'domain must not have a label that begins or ends with a hyphen'],
    ['example.c', 'domain must end in a label of 2 characters or more'],
    ['example.1st', 'domain must not end in a label that begins with a digit'],
    ['example.c0m', 'domain must end in a label of letters alone, such as com'],
    ['example.co-m', 'domain must end in a label of letters alone, such as com'],
    ['localhost', 'domain needs a dot, such as example.com'],
    ['co.uk', 'domain must be a name under a public suffix, not a public suffix itself'],
    ['github.io', 'domain must be a name under a public suffix, not a public suffix itself'],
    ['exa\u0000mple.com', 'domain must not contain white space or control characters'],
    ['example!.com', 'domain must consist of letters, digits, hyphens and dots'],
    ['example.com\u3002', 'domain has an internationalized label that is not valid or not in its usual spelling'],
    ['xn--a.example', 'domain has an internationalized label that is not valid or not in its usual spelling'],
  ])('refuses %j in a sentence', (text, message) => {
    expect(refusalOf(text)).toEqual([message]);
  });

  it('returns a name or refuses for any input, and leaves its own results as they are', () => {
    const text = fc.oneof(fc.string({ unit: anyCharacter }), fc.domain(), fc.webUrl(), fc.emailAddress());
    fc.assert(
      fc.property(text, (given) => {
        const first = refusalOf(given);
        if (Array.isArray(first)) return expect(first).toEqual([expect.stringMatching(/^domain [a-z]/)]);
        expect(refusalOf((first as { domain: string }).domain)).toEqual(first);
      }),
    );
  });
});

const CONFIG = {
  delivery: { mailHost: 'mx.waybill.example' },
  http: { publicUrl: 'https://API.waybill.example:8443/base' },
  dns: {
    dkimZone: 'dkim.waybill.example',
    nameServerHosts: ['ns1.waybill.example'],
    spfHost: 'spf.waybill.example',
    bounceHost: 'bounces.waybill.example',
    trackingHost: 'click.waybill.example',
  },
};

describe('isOwnName', () => {
  it.each([
    'mx.waybill.example',
    'api.waybill.example',
    'spf.waybill.example',
    'bounces.waybill.example',
    'click.waybill.example',
    'ns1.waybill.example',
    'dkim.waybill.example',
    'wb1.customer.dkim.waybill.example',
  ])('knows %s as its own', (domain) => {
    expect(isOwnName(domain, CONFIG)).toBe(true);
  });

  it.each(['waybill.example', 'news.waybill.example', 'notdkim.waybill.example', 'sub.mx.waybill.example'])(
    'leaves %s to its owner',
    (domain) => {
      expect(isOwnName(domain, CONFIG)).toBe(false);
    },
  );

  it('has no zone unless one is delegated', () => {
    const config = { ...CONFIG, dns: { ...CONFIG.dns, dkimZone: undefined } };
    expect(isOwnName('dkim.waybill.example', config)).toBe(false);
  });
});
