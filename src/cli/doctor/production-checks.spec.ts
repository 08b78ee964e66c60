import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DnsAnswer, DnsResolver, MxRecord } from '../../common/dns/dns-resolver';
import { loadConfig } from '../../config/load-config';
import { checkMailHost, checkProxy, checkSpfRecord, checkZone, examineProduction, STEPS } from './production-checks';

type Answers = Partial<Record<'mx' | 'a' | 'txt' | 'ptr', DnsAnswer<unknown>>>;

const NOTHING: DnsAnswer<never> = { kind: 'no-data' };
const AWAY: DnsAnswer<never> = { kind: 'temporary', reason: 'timeout' };
const found = <Item>(...records: Item[]): DnsAnswer<Item> => ({ kind: 'found', records });
const mx = (exchange: string): MxRecord => ({ preference: 10, exchange });
const address = { address: '192.0.2.1', family: 4 };

function dns({ mx: ofMx = NOTHING, a = NOTHING, txt = NOTHING, ptr = NOTHING }: Answers): DnsResolver {
  const resolver = {
    resolveMx: () => Promise.resolve(ofMx),
    resolveAddresses: () => Promise.resolve(a),
    resolveTxt: () => Promise.resolve(txt),
    resolvePtr: () => Promise.resolve(ptr),
  };
  return resolver as unknown as DnsResolver;
}

const configOf = (env: Record<string, string>) =>
  loadConfig({ MASTER_KEY: Buffer.alloc(32).toString('base64'), MAIL_HOST: 'mail.example.com', ...env });

describe('the mail host', () => {
  it.each([
    ['takes its own mail', { mx: found(mx('mail.example.com')) }, 'ok'],
    ['has an MX elsewhere', { mx: found(mx('in.example.net')) }, 'warning'],
    ['has an address only', { a: found(address) }, 'warning'],
    ['has nothing', {}, 'problem'],
    ['cannot be looked up', { mx: AWAY, a: AWAY }, 'warning'],
  ])('that %s', async (_what, answers, status) => {
    expect((await checkMailHost(dns(answers), 'mail.example.com')).status).toBe(status);
  });
});

describe('the SPF record', () => {
  it.each([
    ['is there', found('v=spf1 ip4:192.0.2.1 -all', 'other'), 'ok'],
    ['is there twice', found('v=spf1 -all', 'v=spf1 +all'), 'problem'],
    ['is none', found('v=spf10'), 'problem'],
    ['is missing', NOTHING, 'problem'],
    ['cannot be looked up', AWAY, 'warning'],
  ])('that %s', async (_what, txt, status) => {
    expect((await checkSpfRecord(dns({ txt }), 'spf.example.com')).status).toBe(status);
  });
});

describe('the DKIM zone', () => {
  it.each([
    ['is delegated', NOTHING, 'ok'],
    ['is not delegated', { kind: 'no-domain' } as const, 'problem'],
    ['does not answer', AWAY, 'warning'],
  ])('that %s', async (_what, txt, status) => {
    const { dns: names } = configOf({ DKIM_ZONE: 'dkim.example.com' });
    expect((await checkZone(dns({ txt }), names)).status).toBe(status);
  });

  it('that is not used', async () => {
    expect((await checkZone(dns({}), configOf({}).dns)).status).toBe('skipped');
  });
});

describe('TLS and the proxy', () => {
  it.each([
    [{ PUBLIC_URL: 'https://mail.example.com', TRUST_PROXY: '10.0.0.1' }, 'ok'],
    [{ PUBLIC_URL: 'https://mail.example.com' }, 'warning'],
    [{ PUBLIC_URL: 'http://mail.example.com' }, 'problem'],
  ])('%j', (env: Record<string, string>, status) => {
    expect(checkProxy(configOf(env).http).status).toBe(status);
  });
});

describe('the checks and docs/production.md', () => {
  const page = readFileSync(join(__dirname, '../../../docs/production.md'), 'utf8');
  const anchors = [...page.matchAll(/^## (\d.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\w\s-]/g, '')
      .trim()
      .replace(/\s/g, '-'),
  );

  it('every check is about a step of the page, and every step has one', () => {
    expect(anchors).toHaveLength(9);
    expect([...new Set(Object.values(STEPS))].sort()).toEqual([...anchors].sort());
  });

  it('each check has its step', async () => {
    const direct = configOf({ DELIVERY_MODE: 'direct' });
    const checks = await examineProduction(direct, dns({}), undefined);
    expect(checks.map(({ name }) => name).filter((name) => STEPS[name] === undefined)).toEqual([]);
    expect(checks.map(({ status }) => status)).toContain('problem');
  });

  it('look at nothing outside in local mode', async () => {
    const checks = await examineProduction(configOf({ DELIVERY_MODE: 'local' }), {} as DnsResolver, undefined);
    expect(new Set(checks.map(({ status }) => status))).toEqual(new Set(['skipped']));
  });
});
