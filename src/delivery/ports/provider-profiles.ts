/** Requirements of a large receiver, as published by it or by large senders. */
export interface ProviderProfile {
  readonly id: string;
  /** A host of the group ends with one of these. */
  readonly hostSuffixes: readonly string[];
  /** Its own mailbox domains, the large ones, for mail whose mail exchanger is not known yet. */
  readonly domains?: readonly string[];
  /** Conversations at a time, of the whole installation. */
  readonly maxConnections?: number;
  readonly messagesPerConnection?: number;
  /** The family of addresses by which it takes mail more readily; the installation's choice when absent. */
  readonly prefersFamily?: 4 | 6;
  /** Where the figures come from. */
  readonly source: string;
}

/**
 * Initial values, looked up in November 2026: most receivers publish no figures, and their replies take precedence. Where a
 * receiver publishes none, these are values that large senders have used for years.
 */
export const PROVIDER_PROFILES: readonly ProviderProfile[] = [
  {
    id: 'google',
    prefersFamily: 4,
    hostSuffixes: ['.google.com', '.googlemail.com'],
    domains: ['gmail.com', 'googlemail.com'],
    maxConnections: 20,
    messagesPerConnection: 50,
    source:
      'https://support.google.com/mail/answer/81126; messages: https://docs.kumomta.com/userguide/trafficshaping/shapingfiles/',
  },
  {
    id: 'yahoo',
    hostSuffixes: ['.yahoodns.net'],
    domains: [
      'yahoo.com',
      'yahoo.co.uk',
      'yahoo.fr',
      'yahoo.de',
      'yahoo.es',
      'yahoo.it',
      'yahoo.ca',
      'ymail.com',
      'rocketmail.com',
      'aol.com',
    ],
    messagesPerConnection: 20,
    source: 'https://senders.yahooinc.com/best-practices',
  },
  {
    id: 'microsoft-consumer',
    prefersFamily: 4,
    hostSuffixes: ['.olc.protection.outlook.com'],
    domains: ['outlook.com', 'hotmail.com', 'hotmail.co.uk', 'hotmail.fr', 'live.com', 'msn.com'],
    maxConnections: 20,
    messagesPerConnection: 50,
    source: 'https://sendersupport.olc.protection.outlook.com/pm/Policies',
  },
  {
    id: 'microsoft-365',
    prefersFamily: 4,
    hostSuffixes: ['.mail.protection.outlook.com', '.mx.microsoft'],
    maxConnections: 20,
    messagesPerConnection: 50,
    source: 'https://docs.kumomta.com/userguide/trafficshaping/shapingfiles/',
  },
  {
    id: 'apple',
    hostSuffixes: ['.icloud.com'],
    domains: ['icloud.com', 'me.com', 'mac.com'],
    maxConnections: 10,
    messagesPerConnection: 5,
    source:
      'https://support.apple.com/en-us/102322; figures: https://docs.kumomta.com/userguide/trafficshaping/shapingfiles/',
  },
  {
    id: 'comcast',
    hostSuffixes: ['.comcast.net'],
    domains: ['comcast.net'],
    maxConnections: 25,
    source: 'https://spa.xfinity.com/postmaster',
  },
  {
    id: 'mimecast',
    hostSuffixes: ['.mimecast.com', '.mimecast.co.za', '.mimecast-offshore.com'],
    maxConnections: 10,
    source: 'https://docs.kumomta.com/userguide/trafficshaping/shapingfiles/',
  },
  {
    id: 'orange',
    hostSuffixes: ['.orange.fr'],
    domains: ['orange.fr', 'wanadoo.fr'],
    maxConnections: 3,
    source: 'https://messagerie.orange.fr/postmaster.html',
  },
];

/** The profile of the receiver that a group's first host belongs to. */
export function profileOf(key: string): ProviderProfile | undefined {
  return PROVIDER_PROFILES.find(({ hostSuffixes }) => hostSuffixes.some((suffix) => key.endsWith(suffix)));
}

/** Receivers without special requirements. */
const OTHER_PROVIDER = 'other';

const BY_DOMAIN: ReadonlyMap<string, string> = new Map(
  PROVIDER_PROFILES.flatMap(({ id, domains = [] }) => domains.map((domain) => [domain, id] as const)),
);

/**
 * The group of receivers that a mail goes to: by the mail exchanger where that is known and of one, else by the recipient's
 * domain. A relay of the operator shows nothing about the receiver.
 */
export function providerOf(recipientDomain: string, mxHost?: string): string {
  const profile = mxHost === undefined ? undefined : profileOf(mxHost.toLowerCase());
  return profile?.id ?? BY_DOMAIN.get(recipientDomain.toLowerCase()) ?? OTHER_PROVIDER;
}
