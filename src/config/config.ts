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

/** The longest time that the engine tries a message (RFC 5321 section 4.5.4.1 asks for four to five days at least). */
export const MAX_LIFE_HOURS = 96;

export const TLS_MODES = ['opportunistic', 'required'] as const;

export type TlsMode = (typeof TLS_MODES)[number];

export type DeliveryMode = 'local' | 'relay' | 'direct';

export interface HttpConfig {
  readonly host: string;
  readonly port: number;
  readonly metricsPort: number;
  /** Address that metrics and health listen on; the default is reachable from this machine only. */
  readonly metricsHost: string;
  /** Base of links in mail and of the API's own URL; no trailing slash. */
  readonly publicUrl: string;
  /** How long a stopping process reports "not ready" and still serves requests; then it drains. */
  readonly shutdownDelaySeconds: number;
  readonly trustProxy: TrustProxy;
  /** Large requests, responses and submitted messages that the process holds at a time. */
  readonly heldBodyBytes: number;
}

export interface DatabaseConfig {
  /** Absent: the embedded server under `dataDir`. */
  readonly url: string | undefined;
  /** The database itself, where `url` leads to a pooler in transaction mode. */
  readonly directUrl: string | undefined;
  /** A replica for lists, statistics and exports. */
  readonly readUrl: string | undefined;
  /** A replica further behind than this is not read. */
  readonly readMaxLagSeconds: number;
  readonly poolSize: number;
  /** How long a command waits for a connection; by default 2 s, after which a request is refused. */
  readonly connectTimeoutMs?: number;
  readonly migrateOnStart: boolean;
  /** Whether row-level security keeps requests to their tenant as well. */
  readonly rowLevelSecurity: boolean;
  /** shared_buffers of the embedded server, applied at its next start. */
  readonly embeddedSharedBuffersMegabytes: number;
}

export interface DeliveryConfig {
  readonly mode: DeliveryMode;
  readonly relay: RelayConfig | undefined;
  /** How long a message without an `expiresAt` is tried, by category; at most MAX_LIFE_HOURS. */
  readonly lifeHours: { readonly transactional: number; readonly bulk: number };
  /** File of the operator's own rules for replies. */
  readonly classificationRules: string | undefined;
  /** File of the addresses that mail leaves from. */
  readonly egressPools: string | undefined;
  /** DNS block lists that are queried for the installation's own addresses; empty outside direct mode. */
  readonly blockLists: readonly string[];
  /** Daily volumes of new addresses, as the operator wrote them; undefined: the defaults. */
  readonly egressWarmUp: string | undefined;
  /** Try receivers over IPv6 first, except those whose profile says otherwise. */
  readonly preferIpv6: boolean;
  /** `required`: mail is sent over encrypted connections only. */
  readonly tlsMode: TlsMode;
  /** The resolver validates DNSSEC and the path to it is trusted: its AD flag is believed, which enables DANE. */
  readonly dnssecTrusted: boolean;
  /** Direct mode: the remote port. */
  readonly smtpPort: number;
  /** Direct mode: the HTTPS port from which MTA-STS policies are fetched. */
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
  /** Memory that a worker may use for mail, in addition to its memory at the start. */
  readonly workerMemoryBytes: number;
  /** How long a stopping process waits for running requests, SMTP conversations and webhooks. */
  readonly drainSeconds: number;
  /** A worker session that has not renewed its lease for this long loses its claims. */
  readonly leaseSeconds: number;
}

/** Names that customers' DNS records point at. */
export interface DnsConfig {
  /** Port of the authoritative DNS responder, UDP and TCP. */
  readonly port: number;
  /** The delegated zone that the responder serves; undefined: customers publish the DKIM keys themselves. */
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
  /** How many deliveries of an organization may be open; 0: no limit. */
  readonly openDeliveries: number;
  /** Storage per organization for mail that its inbound routes have received. */
  readonly inboundStoredBytes: number;
  /** Overrides of the default limits, by endpoint class: requests per window. */
  readonly requestLimits: Readonly<Record<string, number>>;
}

export interface WebhooksConfig {
  /** Webhook endpoints may be private addresses, and http is allowed: for tests. */
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

/** How long data is kept; emails that are not in a terminal state are always kept. */
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
  /** Raw inbound reports of bounces and complaints. */
  readonly inboundDays: number;
}

/** The whole configuration, read once at start. Groups name their units. */
export abstract class AppConfig {
  abstract readonly roles: ReadonlySet<Role>;
  abstract readonly dataDir: string;
  abstract readonly logLevel: string;
  /** The protocol of traces; undefined: tracing is off. OpenTelemetry reads its other variables itself. */
  abstract readonly tracing: OtlpProtocol | undefined;
  /** Log a line for each delivery that ends. */
  abstract readonly logDeliveries: boolean;
  /** 32 bytes: encrypts secrets at rest and derives the keys of tokens. */
  abstract readonly masterKey: Buffer;
  /** While the master key is being changed: the old key, which decrypts but no longer encrypts. */
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
  /** Free disk space below which new mail is refused; 0: no limit. */
  abstract readonly diskReserveBytes: number;
  abstract readonly inboundSmtpPort: number;
  abstract readonly submission: SubmissionConfig;
  /** Certificate of the SMTP listeners, inbound and submission. */
  abstract readonly certificate: CertificateFilesConfig | undefined;
  abstract readonly simulatorDomain: string;
}
