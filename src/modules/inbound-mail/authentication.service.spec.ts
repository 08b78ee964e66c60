import { DnsResolver } from '../../common/dns/dns-resolver';
import type { AppConfig } from '../../config/config';
import { AuthenticationService } from './authentication.service';
import { InboundMailLimits } from './inbound-mail-limits';
import { readFields } from './read-envelope';

type Texts = Readonly<Record<string, readonly string[]>>;

/** TXT records from a table; everything else does not exist. `never` answers at the end of the look-up alone. */
class FakeResolver extends DnsResolver {
  constructor(private readonly texts: Texts | 'never') {
    super();
  }

  override async resolveTxt(name: string, { signal }: { signal?: AbortSignal } = {}) {
    if (this.texts === 'never') {
      await new Promise((resolve) => signal?.addEventListener('abort', resolve, { once: true }));
      return { kind: 'temporary', reason: 'aborted' } as const;
    }
    const records = this.texts[name.toLowerCase()];
    return records ? ({ kind: 'found', records } as const) : ({ kind: 'no-domain' } as const);
  }

  private readonly nothing = () => Promise.resolve({ kind: 'no-domain' } as const);
  override readonly resolveMx = this.nothing;
  override readonly resolveAddresses = this.nothing;
  override readonly resolveCname = this.nothing;
  override readonly resolvePtr = this.nothing;
}

const CONFIG = { delivery: { mailHost: 'mail.example.org' } } as unknown as AppConfig;
const CLIENT = { address: '192.0.2.1', helo: 'mx.sender.example', network: '192.0.2.1', sender: 'a@sender.example' };
const MESSAGE = Buffer.from('From: a@sender.example\r\nSubject: x\r\n\r\nx\r\n');

function examine(texts: Texts | 'never', message = MESSAGE, limits: Partial<InboundMailLimits> = {}) {
  const given = Object.assign(new InboundMailLimits(), limits);
  return new AuthenticationService(new FakeResolver(texts), given, CONFIG).examine(
    message,
    readFields(message),
    CLIENT,
  );
}

describe('AuthenticationService', () => {
  it('finds nothing where nothing is published', async () => {
    expect(await examine({})).toMatchObject({ spf: { result: 'none' }, dkim: [], dmarc: { result: 'none' } });
  });

  it.each([
    ['192.0.2.1', 'pass', 'pass'],
    ['192.0.2.9', 'fail', 'fail'],
  ])('judges by SPF and DMARC: %s is a sender', async (address, spf, dmarc) => {
    const texts = {
      'sender.example': [`v=spf1 ip4:${address} -all`],
      '_dmarc.sender.example': ['v=DMARC1; p=reject'],
    };
    expect(await examine(texts)).toMatchObject({
      spf: { result: spf, domain: 'sender.example' },
      dmarc: { result: dmarc, domain: 'sender.example', policy: 'reject' },
    });
  });

  it('ends in time when the DNS does not answer', async () => {
    const result = await examine('never', MESSAGE, { authenticationMs: 20 });
    expect(result).toEqual({ spf: { result: 'temperror' }, dkim: [], dmarc: { result: 'temperror' } });
  });

  it('looks at no message with too many signatures', async () => {
    const field = 'DKIM-Signature: v=1; a=rsa-sha256; d=sender.example; s=x; h=from; bh=x; b=x\r\n';
    const message = Buffer.concat([Buffer.from(field.repeat(21)), MESSAGE]);
    expect(await examine({}, message)).toEqual({
      ...{ spf: { result: 'permerror' }, dkim: [], dmarc: { result: 'permerror' } },
    });
  });
});
