import { connect } from 'node:net';
import { InvalidArgumentError } from 'commander';
import { parse } from 'tldts';
import { SECOND } from '../../common/clock';
import type { DnsResolver } from '../../common/dns/dns-resolver';
import type { DeliveryConfig } from '../../config/config';
import type { Router } from '../../delivery/routing/router';
import { type Finding, ok } from './checks';

/** For the whole attempt: a packet filter that drops is silent, and a person waits. */
const LIMIT_MS = 5 * SECOND;
const MAX_ADDRESSES = 3;
const MAX_GREETING_CHARACTERS = 512;

export interface EgressTarget {
  readonly host: string;
  readonly port: number;
  readonly addresses: readonly string[];
}

/** A server that the operator names; without a port, that of the configuration. */
export interface SmtpHost {
  readonly host: string;
  readonly port: number | undefined;
}

/** `host`, `host:port` or `[address]:port`. @throws InvalidArgumentError */
export function parseSmtpHost(text: string): SmtpHost {
  const [, bracketed, bare, digits] = /^(?:\[([^\]]+)\]|([^:\s[\]]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const host = bracketed ?? bare;
  const port = digits === undefined ? undefined : Number(digits);
  const isPort = port === undefined || (port > 0 && port <= 65_535);
  if (host !== undefined && isPort) return { host, port };
  throw new InvalidArgumentError('It must be host[:port].');
}

/** The mail exchangers of a domain, or of the registrable domain above it: senders' subdomains seldom take mail. */
export async function findTarget(router: Router, domain: string): Promise<EgressTarget | string> {
  let reason = '';
  for (const name of new Set([domain, parse(domain, { allowPrivateDomains: true }).domain ?? domain])) {
    const route = await router.resolve(name);
    if (route.kind === 'hosts') {
      const [first] = route.hosts;
      const addresses = route.hosts.flatMap((host) => host.addresses);
      return { host: first?.hostName ?? name, port: route.port, addresses };
    }
    reason = `${name}: ${route.reason}`;
  }
  return reason;
}

/** A target that the operator named. */
export async function resolveTarget(
  resolver: DnsResolver,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<EgressTarget | string> {
  if (/^[\d.]+$|:/.test(host)) return { host, port, addresses: [host] };
  const answer = await resolver.resolveAddresses(host);
  if (answer.kind !== 'found') return `${host} has no address in the DNS`;
  return { host, port, addresses: answer.records.map(({ address }) => address) };
}

/** Why this mode of delivery needs no way out to the world's port 25; undefined in direct mode. */
export function needlessBecause({ mode }: DeliveryConfig): Finding | undefined {
  if (mode === 'direct') return undefined;
  const message =
    mode === 'relay' ? 'not needed: the relay sends the mail' : 'not needed: local mode sends nothing out';
  return { status: 'skipped', message };
}

/**
 * Whether a mail server out there greets us. A connection alone proves nothing: some networks answer every connection to
 * port 25 themselves.
 */
export async function checkEgress(target: EgressTarget | string, limitMs = LIMIT_MS): Promise<Finding> {
  if (typeof target === 'string') {
    return { status: 'warning', message: `no server to try, name one with --smtp-host: ${target}` };
  }
  const { host, port } = target;
  const addresses = target.addresses.slice(0, MAX_ADDRESSES);
  try {
    const greeting = await firstGreeting(addresses, port, limitMs);
    const details = { host, port, greeting };
    if (greeting.startsWith('2')) return ok(`${host}:${port} greets: ${greeting}`, details);
    return { status: 'warning', message: `${host}:${port} is reached, and refuses us: ${greeting}`, details };
  } catch (error) {
    const reasons = [...new Set((error as AggregateError).errors.map((each) => (each as Error).message))].join('; ');
    const remedy =
      'if it works elsewhere, this network blocks outgoing mail: ask its provider, or use DELIVERY_MODE=relay';
    return {
      status: 'problem',
      message: `${host}:${port} does not greet (${reasons}); ${remedy}`,
      details: { host, port },
    };
  }
}

/** Whichever address greets first; the attempts at the others end with it. */
async function firstGreeting(addresses: readonly string[], port: number, limitMs: number): Promise<string> {
  const ending = new AbortController();
  const timer = setTimeout(() => ending.abort(new Error(`no answer within ${limitMs / SECOND} s`)), limitMs);
  try {
    return await Promise.any(addresses.map((address) => greetingOf(address, port, ending.signal)));
  } finally {
    clearTimeout(timer);
    ending.abort();
  }
}

/** The first line that the server says. */
function greetingOf(address: string, port: number, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: address, port });
    const giveUp = (): unknown => socket.destroy(signal.reason as Error);
    signal.addEventListener('abort', giveUp);
    let received = '';
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => {
      received += text;
      if (!received.includes('\n') && received.length < MAX_GREETING_CHARACTERS) return;
      signal.removeEventListener('abort', giveUp);
      socket.end('QUIT\r\n');
      socket.destroySoon();
      resolve((received.split(/\r?\n/, 1)[0] ?? '').slice(0, MAX_GREETING_CHARACTERS));
    });
    socket.on('error', (error) => reject(new Error(error.message || 'connection failed')));
    socket.on('close', () => reject(new Error('closed without a greeting')));
  });
}
