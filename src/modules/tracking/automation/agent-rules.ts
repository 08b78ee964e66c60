import type { Automation, Proxy } from './recognition';

/** What is known of a mail service by its user agent string. */
export interface AgentRule {
  readonly pattern: RegExp;
  /** An agent that it is about. */
  readonly example: string;
  /** Fetches by itself. */
  readonly automation?: Automation;
  /** Fetches when a person looks, so that the fetch counts but shows nothing of where they are. */
  readonly proxy?: Proxy;
}

/** The first that matches decides, before the list of crawlers, which knows some of them as robots. */
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
    // Apple Mail Privacy Protection: every image of every mail, whether it is read or not.
    pattern: /^Mozilla\/5\.0$/,
    automation: 'privacy-proxy',
    example: 'Mozilla/5.0',
  },
  {
    // Gmail, when the mail arrives and the person is at it; what they then look at comes through GoogleImageProxy.
    pattern: /Edge\/12\.246 Mozilla\/5\.0$/,
    automation: 'privacy-proxy',
    example:
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/42.0.2311.135 Safari/537.36 Edge/12.246 Mozilla/5.0',
  },
  {
    // Office asks before it hands a link to the browser, which then asks as well.
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
    // Filters that give their names; mail programs and browsers do not have them in theirs.
    pattern: /safe-?links|proofpoint|mimecast|messagelabs|symantec|ironport|fireeye|forcepoint|fortimail|sophos/i,
    automation: 'security-scanner',
    example: 'Mozilla/5.0 (compatible; Proofpoint URL Defense)',
  },
];
