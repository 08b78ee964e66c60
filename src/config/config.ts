import type { OtlpProtocol } from '../common/tracing/tracing';
import type { TrustProxy } from './trust-proxy';

/** What a process does; `WAYBILL_ROLES` is a comma list of these, or `all`. */
export const ROLES = ['api', 'worker', 'inbound', 'dns', 'submission'] as const;

export type Role = (typeof ROLES)[number];

export interface RelayConfig {
  readonly host: string;
  readonly port: number;
  /** `smtps:` speaks TLS from the first byte; `smtp:` uses STARTTLS when offered. */
  readonly implicitTls: boolean;
  readonly auth?: { readonly user: string; readonly password: string };
}

/** The engine tries no longer (RFC 5321 section 4.5.4.1). */
export const MAX_LIFE_HOURS = 96;

export const TLS_MODES = ['opportunistic', 'required'] as const;

export type TlsMode = (typeof TLS_MODES)[number];

export type DeliveryMode = 'local' | 'relay' | 'direct';

export interface HttpConfig {
  readonly host: string;
  readonly port: number;
  readonly metricsPort: number;
  /** Where metrics and health listen: this machine only by default. */
  readonly metricsHost: string;
  /** Base of links in mail and of the API's own URL; no trailing slash. */
  readonly publicUrl: string;
  /** A stopping process is not ready, and serves on, for so long; then it drains. */
  readonly shutdownDelaySeconds: number;
  readonly trustProxy: TrustProxy;
}

export interface DatabaseConfig {
  /** Absent: the embedded server under `dataDir`. */
  readonly url: string | undefined;
  /** Set where `url` leads through a pooler that shares connections by transaction: the database itself. */
  readonly directUrl: string | undefined;
  /** A replica for lists, statistics and exports. */
  readonly readUrl: string | undefined;
  /** Further behind than this, the replica is not read. */
  readonly readMaxLagSeconds: number;
  readonly poolSize: number;
  readonly migrateOnStart: boolean;
  /** Whether requests are kept to their tenant by the database too. */
  readonly rowLevelSecurity: boolean;
  /** Of the embedded server, from its next start on. */
  readonly embeddedSharedBuffersMegabytes: number;
}

export interface DeliveryConfig {
  readonly mode: DeliveryMode;
  readonly relay: RelayConfig | undefined;
  /** How long a message without an `expiresAt` is tried, by its category; 96 is the engine's own limit. */
  readonly lifeHours: { readonly transactional: number; readonly bulk: number };
  /** File of the operator's own rules for replies. */
  readonly classificationRules: string | undefined;
  /** File of the addresses that mail leaves from. */
  readonly egressPools: string | undefined;
  /** DNS zones in which the installation's own addresses are looked up; none but in direct mode. */
  readonly blockLists: readonly string[];
  /** Daily volumes of new addresses, as written; unset: the default ones. */
  readonly egressWarmUp: string | undefined;
  /** Receivers are sent to by IPv6 first, save those whose profile says otherwise. */
  readonly preferIpv6: boolean;
  /** `required`: no mail leaves over a connection that is not encrypted. */
  readonly tlsMode: TlsMode;
  /** The resolver validates DNSSEC, and the way to it is safe: its AD flag counts, and DANE with it. */
  readonly dnssecTrusted: boolean;
  /** Direct mode: the remote port. */
  readonly smtpPort: number;
  /** Direct mode: the port of the web servers that MTA-STS policies are fetched from. */
  readonly mtaStsPort: number;
  readonly allowPrivateDestinations: boolean;
  /** `host:port` each; empty: the system's resolvers. */
  readonly dnsServers: readonly string[];
  /** EHLO name and host of the return path. */
  readonly mailHost: string;
  /** SMTP conversations at a time in one worker process. */
  readonly concurrency: number;
  /** Connections to one next hop from one worker process. */
  readonly connectionsPerHost: number;
  /** What a worker may use for mail, above its memory at the start. */
  readonly workerMemoryBytes: number;
  /** How long a stopping process waits for what is under way: requests, conversations, webhooks. */
  readonly drainSeconds: number;
  /** A worker session that has not renewed for this long loses its claims. */
  readonly leaseSeconds: number;
}

/** What customers' DNS records point at. */
export interface DnsConfig {
  /** Of the authoritative responder, UDP and TCP. */
  readonly port: number;
  /** Delegated zone that the responder answers for; undefined: customers publish the keys themselves. */
  readonly dkimZone: string | undefined;
  /** The zone's NS records: the same names as in its delegation. Never empty. */
  readonly nameServerHosts: readonly string[];
  /** The include of the SPF record. */
  readonly spfHost: string;
  /** Target of `bounce.<domain>`. */
  readonly bounceHost: string;
  /** Target of `click.<domain>`. */
  readonly trackingHost: string;
  readonly dmarcReportAddress: string;
}

export interface SubmissionConfig {
  /** With STARTTLS. */
  readonly port: number;
  /** With TLS from the start. */
  readonly implicitTlsPort: number;
}

/** PEM files. */
export interface CertificateFilesConfig {
  readonly certificateFile: string;
  readonly keyFile: string;
}

export interface LimitsConfig {
  readonly rateLimitEnabled: boolean;
  readonly warmupEnabled: boolean;
  /** Test mode, recipients per sender domain. */
  readonly testRecipientsPerDay: number;
  readonly testRecipientsPerLifetime: number;
  readonly testRequestsPerHour: number;
  /** What an organization may keep of mail that came to its routes. */
  readonly inboundStoredBytes: number;
  /** Overrides of the default limits, by endpoint class: requests per window. */
  readonly requestLimits: Readonly<Record<string, number>>;
}

export interface WebhooksConfig {
  /** Endpoints may be on this machine, over http as well: for tests. */
  readonly allowPrivate: boolean;
}

/** Who sends reports on TLS (RFC 8460). */
export interface TlsReportsConfig {
  readonly organization: string;
  /** An address. */
  readonly contact: string;
}

export interface ConsoleConfig {
  /** Whether this process serves `/console` and takes its cookie. */
  readonly enabled: boolean;
}

/** How long data is kept; what is not terminal is kept in any case. */
export interface RetentionConfig {
  /** Bodies, headers and attachments, from the email's terminal state on. */
  readonly contentDays: number;
  /** Emails, recipients and events: whole calendar months (UTC) after the month of acceptance. */
  readonly emailMonths: number;
  /** Webhook messages and their attempts. */
  readonly webhookDays: number;
  readonly idempotencyHours: number;
  /** Results of privacy exports. */
  readonly exportDays: number;
  readonly auditMonths: number;
  /** Raw messages that came in: reports of bounces and complaints. */
  readonly inboundDays: number;
}

/** The whole configuration, read once at start. Groups name their units. */
export abstract class AppConfig {
  abstract readonly roles: ReadonlySet<Role>;
  abstract readonly dataDir: string;
  abstract readonly logLevel: string;
  /** How traces are sent; undefined: there are none. Where to, and which, is read by OpenTelemetry itself. */
  abstract readonly tracing: OtlpProtocol | undefined;
  /** A line for each delivery that ends. */
  abstract readonly logDeliveries: boolean;
  /** 32 bytes: encrypts secrets at rest and derives the keys of tokens. */
  abstract readonly masterKey: Buffer;
  /** While the master key is being changed: the other one, which still decrypts but encrypts nothing. */
  abstract readonly previousMasterKey: Buffer | undefined;
  abstract readonly http: HttpConfig;
  abstract readonly database: DatabaseConfig;
  abstract readonly delivery: DeliveryConfig;
  abstract readonly dns: DnsConfig;
  abstract readonly limits: LimitsConfig;
  abstract readonly webhooks: WebhooksConfig;
  /** Undefined: no reports are sent. */
  abstract readonly tlsReports: TlsReportsConfig | undefined;
  abstract readonly console: ConsoleConfig;
  abstract readonly retention: RetentionConfig;
  /** Free bytes of a disk below which nothing more is taken in; 0: no limit. */
  abstract readonly diskReserveBytes: number;
  abstract readonly inboundSmtpPort: number;
  abstract readonly submission: SubmissionConfig;
  /** Of the listeners for mail, submission and inbound. */
  abstract readonly certificate: CertificateFilesConfig | undefined;
  abstract readonly simulatorDomain: string;
}
