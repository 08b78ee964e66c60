import { DnsServer, type DnsZones } from '../../doubles/dns-server';
import { SmtpSink } from '../../doubles/smtp-sink';
import { query } from '../embedded/support';
import { CliKit, type CliResult, runWith } from './cli-kit';

interface Report {
  healthy: boolean;
  organization_id: string;
  records: { purpose: string; status: string; required: boolean; wanted: string; found: string[]; problem?: string }[];
  checks: { name: string; status: string; message: string; details?: any }[];
}

const DOMAIN = 'acme.example';
/** Unused on this host: only the DNS double speaks of it. */
const OWN_ADDRESS = '192.0.2.1';
const PTR_NAME = '1.2.0.192.in-addr.arpa';

let cli: CliKit;
let dns: DnsServer;
let sink: SmtpSink;
let org: string;
let zones: DnsZones;

beforeAll(async () => {
  cli = await CliKit.create();
  dns = await DnsServer.start();
  sink = await SmtpSink.start();
  org = (await cli.json('org', 'create', 'Acme')).id;
  const added = await cli.json('domain', 'add', org, DOMAIN);
  const [{ token = '' } = {}] = await query<{ token: string }>(
    cli.url,
    `select verification_token as token from domains where id = '${added.id}'`,
  );
  zones = {
    [`_waybill.${DOMAIN}`]: { TXT: [`waybill-verification=${token}`] },
    [added.dkim_record.host]: { TXT: [inStrings(added.dkim_record.value)] },
    [DOMAIN]: { TXT: ['v=spf1 include:spf.mail.waybill.test ~all', 'other=1'], MX: [[10, 'mx.acme.example']] },
    [`_dmarc.${DOMAIN}`]: { TXT: ['v=DMARC1; p=none; rua=mailto:dmarc@mail.waybill.test'] },
    [`bounce.${DOMAIN}`]: { CNAME: 'mail.waybill.test' },
    [`click.${DOMAIN}`]: { CNAME: 'click.mail.waybill.test' },
    'spf.mail.waybill.test': { TXT: [`v=spf1 ip4:${OWN_ADDRESS} -all`] },
    'click.mail.waybill.test': { A: [OWN_ADDRESS] },
    'mail.waybill.test': { A: [OWN_ADDRESS] },
    [PTR_NAME]: { PTR: ['mail.waybill.test'] },
    'mx.acme.example': { A: ['127.0.0.1'] },
  };
});
beforeEach(() => dns.set(zones));
afterAll(async () => {
  await cli.destroy();
  await dns.stop();
  await sink.stop();
});

/** A record's strings hold 255 bytes each; a key needs two. */
function inStrings(text: string): string[] {
  return text.match(/.{1,255}/g) ?? [];
}

function doctor(args: readonly string[] = [], environment: NodeJS.ProcessEnv = {}): Promise<CliResult> {
  const direct = { DELIVERY_MODE: 'direct', MAIL_HOST: 'mail.waybill.test', ALLOW_PRIVATE_DESTINATIONS: 'true' };
  const ports = { SMTP_PORT: String(sink.port), DNS_SERVERS: dns.endpoint };
  return runWith({ ...cli.environment, ...direct, ...ports, ...environment }, ['doctor', DOMAIN, ...args]);
}

async function report(...args: Parameters<typeof doctor>): Promise<Report> {
  const [flags = [], environment] = args;
  const { exitCode, stdout, stderr } = await doctor([...flags, '--json'], environment);
  const report = (exitCode === 0 ? JSON.parse(stdout) : JSON.parse(stderr).error.details) as Report;
  expect({ exitCode, silent: exitCode === 0 ? stderr : stdout }).toEqual({
    exitCode: report.healthy ? 0 : 1,
    silent: '',
  });
  return report;
}

function statuses(list: Report['records'] | Report['checks']): Record<string, string> {
  return Object.fromEntries(list.map((each) => ['purpose' in each ? each.purpose : each.name, each.status]));
}

const ALL_RECORDS_OK = { verification: 'ok', dkim: 'ok', spf: 'ok', dmarc: 'ok', return_path: 'ok', tracking: 'ok' };

describe('waybill doctor <domain>', () => {
  it('finds everything in place, and changes nothing', async () => {
    const state = 'select d.*, (select count(*) from domain_checks) as checks from domains d';
    const before = await query(cli.url, state);
    const found = await report();
    expect(found).toMatchObject({
      healthy: true,
      domain: DOMAIN,
      organization_id: org,
      verification_status: 'pending',
    });
    expect(statuses(found.records)).toEqual(ALL_RECORDS_OK);
    expect(statuses(found.checks)).toEqual({ 'reverse DNS': 'ok', 'outgoing mail': 'ok', clock: 'ok' });
    expect(found.checks[1]?.details).toMatchObject({
      host: 'mx.acme.example',
      greeting: expect.stringMatching(/^220 /),
    });
    expect(found.checks[2]?.message).toContain('the database is');
    expect(found.records.find(({ purpose }) => purpose === 'spf')?.found).toEqual([
      'v=spf1 include:spf.mail.waybill.test ~all',
    ]);
    expect(await query(cli.url, state)).toEqual(before);
  });

  it('shows found beside wanted for a required record that is wrong, and fails', async () => {
    dns.set({ [`_waybill.${DOMAIN}`]: { TXT: ['waybill-verification=somebody elses \u001b[2J'] } });
    const found = await report();
    expect(statuses(found.records)).toEqual({ ...ALL_RECORDS_OK, verification: 'problem' });
    const { exitCode, stdout, stderr } = await doctor();
    expect(exitCode).toBe(1);
    expect(stderr).toBe('waybill: Something is wrong: verification\n');
    expect(stdout).toMatch(
      /verification +problem +TXT _waybill\.acme\.example\n +wanted +waybill-verification=[0-9a-f]{32}\n/,
    );
    expect(stdout).toMatch(/ +found +waybill-verification=somebody elses \?\[2J\n +because +\S/);
    // What a foreign zone says is not obeyed by the terminal.
    expect(stdout).not.toContain('\u001b');
  });

  it('only warns about optional records', async () => {
    dns.set({ [`bounce.${DOMAIN}`]: { CNAME: 'elsewhere.example' }, [`click.${DOMAIN}`]: {} });
    const found = await report();
    expect(found.healthy).toBe(true);
    expect(statuses(found.records)).toMatchObject({ return_path: 'warning', tracking: 'warning' });
    expect(found.records.find(({ purpose }) => purpose === 'return_path')).toMatchObject({
      required: false,
      wanted: 'mail.waybill.test',
      found: ['elsewhere.example'],
    });
  });

  it('looks through the two aliases into a delegated zone', async () => {
    const [{ id = '', key = '' } = {}] = await query<{ id: string; key: string }>(
      cli.url,
      `select domain_id as id, public_key as key from dkim_keys join domains on id = domain_id where domain = '${DOMAIN}'`,
    );
    const target = (selector: string) => `${selector}.${id}.dkim.waybill.test`;
    const host = (selector: string) => `${selector}._domainkey.${DOMAIN}`;
    dns.set({
      [host('wb1')]: { CNAME: target('wb1') },
      [target('wb1')]: { TXT: [inStrings(`v=DKIM1; k=rsa; p=${key}`)] },
      [host('wb2')]: { CNAME: target('wb2') },
    });
    const delegated = { DKIM_ZONE: 'dkim.waybill.test' };
    const whole = await report([], delegated);
    expect(whole.healthy).toBe(true);
    expect(whole.records.filter(({ purpose }) => purpose === 'dkim')).toMatchObject([
      { status: 'ok', wanted: target('wb1'), found: [target('wb1')] },
      { status: 'ok', wanted: target('wb2'), found: [target('wb2')] },
    ]);
    dns.set({ [host('wb2')]: {} });
    const half = await report([], delegated);
    expect(half.records.filter(({ purpose }) => purpose === 'dkim').map(({ status }) => status)).toEqual([
      'ok',
      'problem',
    ]);
  });

  it('does not take silence for health', async () => {
    dns.set({ [`_dmarc.${DOMAIN}`]: 'servfail' });
    const found = await report();
    expect(found.healthy).toBe(false);
    expect(found.records.find(({ purpose }) => purpose === 'dmarc')).toMatchObject({ status: 'problem', found: [] });
  });

  it.each([
    ['has no name', { [PTR_NAME]: {} }, 'problem', /192\.0\.2\.1 has no such record/],
    ['has a name that leads elsewhere', { 'mail.waybill.test': { A: ['192.0.2.1'] }, [PTR_NAME]: { PTR: ['host.example'] } }, 'problem', /does not lead back/], // prettier-ignore
    ['has another name than our EHLO', { [PTR_NAME]: { PTR: ['host.example'] }, 'host.example': { A: ['192.0.2.1'] } }, 'warning', /not mail\.waybill\.test/], // prettier-ignore
    ['cannot be looked up', { [PTR_NAME]: 'servfail' as const }, 'problem', /nothing can be concluded/],
    ['does not exist', { 'mail.waybill.test': {} }, 'problem', /MAIL_HOST mail\.waybill\.test has no such record/],
  ])('reports that the sending address %s', async (_what, changed: DnsZones, status, message) => {
    dns.set(changed);
    const found = await report();
    expect(found.checks[0]).toMatchObject({ name: 'reverse DNS', status, message: expect.stringMatching(message) });
    dns.set({ 'host.example': {} });
  });

  it('reports that no mail server can be reached, and tries the one that is named', async () => {
    const gone = await SmtpSink.start();
    const { port } = gone;
    await gone.stop();
    const found = await report([], { SMTP_PORT: String(port) });
    expect(found.checks[1]).toMatchObject({ status: 'problem', message: expect.stringContaining('ECONNREFUSED') });
    const named = await report(['--smtp-host', `127.0.0.1:${sink.port}`], { SMTP_PORT: String(port) });
    expect(named.checks[1]).toMatchObject({ status: 'ok', details: { host: '127.0.0.1', port: sink.port } });
    expect(await cli.failure('doctor', DOMAIN, '--smtp-host', 'a:b:c')).toMatchObject({ code: 'invalid_request' });
  });

  it('distinguishes a server that refuses the connection from one that cannot be reached', async () => {
    const refusing = await SmtpSink.start({ banner: '554 5.7.1 not you' });
    const found = await report([], { SMTP_PORT: String(refusing.port) });
    expect(found.checks[1]).toMatchObject({ status: 'warning', details: { greeting: '554 5.7.1 not you' } });
    await refusing.stop();
  });

  it('connects to no host outside direct mode', async () => {
    const before = sink.connectionCount;
    const found = await report([], { DELIVERY_MODE: 'local' });
    expect(statuses(found.checks)).toEqual({ 'reverse DNS': 'skipped', 'outgoing mail': 'skipped', clock: 'ok' });
    expect(sink.connectionCount).toBe(before);
  });

  it('requires the organization when several have the domain', async () => {
    const other = (await cli.json('org', 'create', 'Other')).id;
    await cli.json('domain', 'add', other, DOMAIN);
    const { exitCode, stderr } = await doctor();
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: expect.stringContaining('--org') });
    expect((await report(['--org', org])).organization_id).toBe(org);
    await cli.json('domain', 'mark-verified', org, DOMAIN);
    expect((await report()).organization_id).toBe(org);
  });

  it('reports an unknown domain, and a name that is none', async () => {
    expect(await cli.failure('doctor', 'nobody.example')).toMatchObject({ code: 'resource_not_found' });
    expect(await cli.failure('doctor', 'co.uk')).toMatchObject({ code: 'invalid_request' });
  });

  it('says in one sentence that the schema is missing', async () => {
    const empty = await CliKit.create();
    await query(empty.url, 'drop schema public cascade; create schema public');
    const { exitCode, stdout, stderr } = await empty.run('doctor', DOMAIN);
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toMatch(/^waybill: Nothing can be checked: the database is empty: run `waybill migrate`.*\n$/);
    await empty.destroy();
  });
});
