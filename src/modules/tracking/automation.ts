import crawlers from 'crawler-user-agents';
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';

/** Undefined for text that is not an IP address; an IPv4-mapped IPv6 address becomes IPv4. */
function parseAddress(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  // A link-local address may have a zone id (`%eth0`).
  const address = text.replace(/%.*$/, '');
  return ipaddr.isValid(address) ? ipaddr.process(address) : undefined;
}

/** The network of an address, /24 for IPv4 and /48 for IPv6, which identifies no person. Undefined for text that is not an address. */
export function truncateAddress(text: string): string | undefined {
  const address = parseAddress(text);
  if (!address) return undefined;
  const network =
    address instanceof ipaddr.IPv4
      ? ipaddr.IPv4.networkAddressFromCIDR(`${address.toString()}/24`)
      : ipaddr.IPv6.networkAddressFromCIDR(`${address.toString()}/48`);
  return network.toString();
}

/**
 * Networks published by vendors of mail filters: people do not read mail from there. Other filters, and scanners in public
 * clouds, which people's proxies use too, are recognised by their behaviour.
 */
const NETWORKS: readonly string[] = [
  // Barracuda Email Gateway Defense
  '64.235.144.0/20',
  '209.222.80.0/21',
  // Proofpoint
  '67.231.144.0/20',
  '91.209.104.0/24',
  '208.84.64.0/22',
];

const RANGES = NETWORKS.map((network) => ipaddr.IPv4.parseCIDR(network));

function isScannerNetwork(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  return address instanceof ipaddr.IPv4 && RANGES.some((range) => address.match(range));
}

/**
 * Why a fetch counts as automatic: `head-request` and `prefetch` by the request itself; `no-user-agent`; `privacy-proxy`: a
 * mail service loads images whether the mail is read or not; `security-scanner`: a filter, by its agent or its network;
 * `crawler`: any other program, by its agent; `many-links`: three links of one mail within two seconds; `at-delivery`: sooner
 * after the delivery than a person could read.
 */
export type Automation =
  | 'head-request'
  | 'prefetch'
  | 'no-user-agent'
  | 'privacy-proxy'
  | 'security-scanner'
  | 'crawler'
  | 'many-links'
  | 'at-delivery';

/** The operator of an image proxy between a person and this service. */
type Proxy = 'google' | 'yahoo';

/** What a request for a pixel or a link reveals about its client. */
export interface Visit {
  readonly isHead: boolean;
  /** The browser fetches in advance (`Sec-Purpose` or `Purpose`). */
  readonly isPrefetch: boolean;
  readonly userAgent: string;
  readonly address: string;
  /** No mail filter runs there: developers try tracking with curl, and right after sending. */
  readonly isOnThisMachine: boolean;
}

export interface Recognition {
  readonly automation?: Automation;
  readonly proxy?: Proxy;
}

/** Agents differ in their first characters; matching the rest would only cost time. */
const MAX_AGENT_LENGTH = 512;
const CRAWLER = new RegExp(crawlers.map(({ pattern }) => pattern).join('|'));
/** Compiles the pattern now (some 70 ms), not when the first mail is opened. */
CRAWLER.test('');

/** Results by agent: 1,500 patterns take up to 0.3 ms, and most agents repeat. */
const known = new LRUCache<string, Recognition>({ max: 1_000 });

/** Heuristic results. For clients on this machine they do not count: there they are a developer's tools. */
const GUESSES: ReadonlySet<Automation | undefined> = new Set(['no-user-agent', 'crawler']);

/** Classifies a single request; `LinkBursts` finds what only several requests together show. */
export function recognizeAutomation({ isHead, isPrefetch, userAgent, address, isOnThisMachine }: Visit): Recognition {
  if (isHead) return { automation: 'head-request' };
  if (isPrefetch) return { automation: 'prefetch' };
  const parsed = parseAddress(address);
  if (parsed && isScannerNetwork(parsed)) return { automation: 'security-scanner' };
  const recognized = recognizeAgent(userAgent.slice(0, MAX_AGENT_LENGTH).trim());
  return isOnThisMachine && GUESSES.has(recognized.automation) ? {} : recognized;
}

function recognizeAgent(agent: string): Recognition {
  const remembered = known.get(agent);
  if (remembered) return remembered;
  const recognized = classifyAgent(agent);
  known.set(agent, recognized);
  return recognized;
}

function classifyAgent(agent: string): Recognition {
  if (agent === '') return { automation: 'no-user-agent' };
  const rule = AGENT_RULES.find(({ pattern }) => pattern.test(agent));
  if (rule) return { automation: rule.automation, proxy: rule.proxy };
  return CRAWLER.test(agent) ? { automation: 'crawler' } : {};
}

/** Mail services by user agent. */
export interface AgentRule {
  readonly pattern: RegExp;
  /** A user agent that the rule matches. */
  readonly example: string;
  /** The fetch is automatic, for this reason. */
  readonly automation?: Automation;
  /** Fetches when a person opens the mail, so that the fetch counts but does not show the person's location. */
  readonly proxy?: Proxy;
}

/** The first match wins, before the list of crawlers, which contains some of these agents. */
export const AGENT_RULES: readonly AgentRule[] = [
  {
    pattern: /\bGoogleImageProxy\b/,
    proxy: 'google',
    example: 'Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)',
  },
  {
    pattern: /\bYahooMailProxy\b/,
    proxy: 'yahoo',
    example: 'YahooMailProxy; https://help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html',
  },
  {
    // Apple Mail Privacy Protection loads every image of every mail, whether it is read or not.
    pattern: /^Mozilla\/5\.0$/,
    automation: 'privacy-proxy',
    example: 'Mozilla/5.0',
  },
  {
    // Gmail prefetches when mail arrives while the person uses it; images of opened mail come through GoogleImageProxy.
    pattern: /Edge\/12\.246 Mozilla\/5\.0$/,
    automation: 'privacy-proxy',
    example:
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/42.0.2311.135 Safari/537.36 Edge/12.246 Mozilla/5.0',
  },
  {
    // Office requests a link before the browser does.
    pattern: /\bMicrosoft Office (?:Existence|Protocol) Discovery\b/,
    automation: 'security-scanner',
    example: 'Microsoft Office Existence Discovery',
  },
  {
    pattern: /\bBarracuda\b/i,
    automation: 'security-scanner',
    example: 'Barracuda Sentinel (EE)',
  },
  {
    // Filters that name themselves; mail programs and browsers do not contain these names.
    pattern: /safe-?links|proofpoint|mimecast|messagelabs|symantec|ironport|fireeye|forcepoint|fortimail|sophos/i,
    automation: 'security-scanner',
    example: 'Mozilla/5.0 (compatible; Proofpoint URL Defense)',
  },
];
