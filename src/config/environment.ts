import { isIP, isIPv4, isIPv6 } from 'node:net';
import { Transform } from 'class-transformer';
import { IsBoolean, IsEmail, IsIn, IsInt, IsOptional, IsString, Matches, Max, Min } from 'class-validator';
import { MAX_LIFE_HOURS, TLS_MODES, type TlsMode } from './config';
import { MASTER_KEY_TEXT } from './master-key';

const toInteger = Transform(({ value }: { value: unknown }) =>
  typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value,
);
const toBoolean = Transform(({ value }: { value: unknown }) =>
  value === 'true' || value === '1' ? true : value === 'false' || value === '0' ? false : value,
);

/** A name that ends in a number is an address, or a mistyped one (RFC 1123 section 2.1). */
export const HOST_NAME = /^(?!(?:.*\.)?\d+$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/i;

/** A comma list of names like `HOST_NAME`, written without its backtracking over dots. */
const ZONES = /^(\s*[a-z0-9][a-z0-9.-]{0,252}\s*(,\s*[a-z0-9][a-z0-9.-]{0,252}\s*){0,19})?$/i;

function Port(): PropertyDecorator {
  return (target, key) => {
    for (const decorate of [toInteger, IsInt(), Min(0), Max(65_535)]) decorate(target, key);
  };
}

function Count(max: number, min = 1): PropertyDecorator {
  return (target, key) => {
    for (const decorate of [toInteger, IsInt(), Min(min), Max(max)]) decorate(target, key);
  };
}

/** The environment as the operator writes it; `.env.example` shows every name. Port 0 takes any free port. */
export class Environment {
  @IsOptional() @IsString() HOST?: string;
  @IsString() METRICS_HOST = '127.0.0.1';
  @Port() PORT = 3000;
  @Port() METRICS_PORT = 9464;
  @Port() INBOUND_SMTP_PORT = 2526;
  @Port() SUBMISSION_PORT = 2587;
  @Port() SUBMISSIONS_PORT = 2465;
  @IsOptional() @IsString() TLS_CERT_FILE?: string;
  @IsOptional() @IsString() TLS_KEY_FILE?: string;
  @Port() DNS_PORT = 5354;

  @IsOptional()
  @Matches(/^postgres(ql)?:\/\//, { message: 'DATABASE_URL must begin with postgres://' })
  DATABASE_URL?: string;
  @IsOptional()
  @Matches(/^postgres(ql)?:\/\//, { message: 'DATABASE_DIRECT_URL must begin with postgres://' })
  DATABASE_DIRECT_URL?: string;
  @IsOptional()
  @Matches(/^postgres(ql)?:\/\//, { message: 'DATABASE_READ_URL must begin with postgres://' })
  DATABASE_READ_URL?: string;
  @Count(3_600) DATABASE_READ_MAX_LAG_SECONDS = 10;
  @Count(200) DATABASE_POOL_SIZE = 8;
  @toBoolean @IsBoolean() MIGRATE_ON_START = true;
  @toBoolean @IsBoolean() ROW_LEVEL_SECURITY = true;
  @Count(1_048_576, 16) EMBEDDED_SHARED_BUFFERS_MB = 32;
  @IsString() WAYBILL_DATA_DIR = '.data';
  @IsString() WAYBILL_ROLES = 'all';

  @IsIn(['local', 'relay', 'direct']) DELIVERY_MODE: 'local' | 'relay' | 'direct' = 'local';
  @IsOptional()
  @Matches(/^smtps?:\/\//, { message: 'RELAY_URL must begin with smtp:// or smtps://' })
  RELAY_URL?: string;
  /** A file of rules that take precedence over the built-in ones. */
  @IsOptional() @IsString() CLASSIFICATION_RULES?: string;
  @Count(MAX_LIFE_HOURS) MESSAGE_LIFE_TRANSACTIONAL_HOURS = MAX_LIFE_HOURS;
  @Count(MAX_LIFE_HOURS) MESSAGE_LIFE_BULK_HOURS = MAX_LIFE_HOURS;
  @IsOptional() @IsString() EGRESS_POOLS?: string;
  @Matches(ZONES, { message: 'BLOCK_LISTS must be a comma list of at most 20 DNS zones, or none' })
  BLOCK_LISTS = 'zen.spamhaus.org,bl.spamcop.net,psbl.surriel.com';
  @IsOptional() @IsString() EGRESS_WARM_UP?: string;
  @toBoolean @IsBoolean() PREFER_IPV6 = false;
  @IsIn(TLS_MODES) TLS_MODE: TlsMode = 'opportunistic';
  @toBoolean @IsBoolean() DNSSEC_TRUSTED = false;
  @IsOptional()
  @Matches(/^[^\r\n]{1,200}$/, { message: 'TLS_REPORT_ORGANIZATION must be one line of at most 200 characters' })
  TLS_REPORT_ORGANIZATION?: string;
  @IsOptional()
  @IsEmail({}, { message: 'TLS_REPORT_CONTACT must be an email address' })
  TLS_REPORT_CONTACT?: string;
  // Ports of others: 0 is none.
  @Count(65_535) SMTP_PORT = 25;
  @Count(65_535) MTA_STS_PORT = 443;
  @toBoolean @IsBoolean() ALLOW_PRIVATE_DESTINATIONS = false;
  @toBoolean @IsBoolean() WEBHOOK_ALLOW_PRIVATE = false;
  @IsOptional() @IsString() DNS_SERVERS?: string;
  @IsOptional()
  @Matches(HOST_NAME, { message: 'MAIL_HOST must be a host name' })
  MAIL_HOST?: string;
  @IsOptional() @Matches(HOST_NAME, { message: 'DKIM_ZONE must be a host name' }) DKIM_ZONE?: string;
  @IsOptional() @IsString() DKIM_ZONE_SERVERS?: string;
  @IsOptional() @Matches(HOST_NAME, { message: 'SPF_HOST must be a host name' }) SPF_HOST?: string;
  @IsOptional() @Matches(HOST_NAME, { message: 'BOUNCE_HOST must be a host name' }) BOUNCE_HOST?: string;
  @IsOptional() @Matches(HOST_NAME, { message: 'TRACKING_HOST must be a host name' }) TRACKING_HOST?: string;
  @IsOptional()
  @IsEmail({}, { message: 'DMARC_REPORT_ADDRESS must be an email address' })
  DMARC_REPORT_ADDRESS?: string;
  @IsOptional()
  @Matches(/^https?:\/\/[^/\s]+/, { message: 'PUBLIC_URL must begin with http:// or https://' })
  PUBLIC_URL?: string;
  @IsOptional()
  @Matches(MASTER_KEY_TEXT, { message: 'MASTER_KEY must be 32 bytes in base64' })
  MASTER_KEY?: string;
  @IsOptional()
  @Matches(MASTER_KEY_TEXT, { message: 'MASTER_KEY_PREVIOUS must be 32 bytes in base64' })
  MASTER_KEY_PREVIOUS?: string;

  @Count(2_000) DELIVERY_CONCURRENCY = 100;
  @Count(500) CONNECTIONS_PER_HOST = 20;
  @Count(1_048_576) WORKER_MEMORY_MB = 256;
  /** One client alone has half: that must hold a batch of 64 MiB. */
  @Count(1_048_576, 128) BODY_MEMORY_MB = 192;
  @Count(1_073_741_824, 0) DISK_RESERVE_MB = 256;
  @Count(3_600) DRAIN_SECONDS = 90;
  @Count(3_600, 0) SHUTDOWN_DELAY_SECONDS = 0;
  @Count(3_600) LEASE_SECONDS = 30;
  @toBoolean @IsBoolean() RATE_LIMIT_ENABLED = true;
  @toBoolean @IsBoolean() WARMUP_ENABLED = true;
  @toBoolean @IsBoolean() CONSOLE_ENABLED = true;
  /** JSON object: requests per window by endpoint class, e.g. {"send": 1200}. */
  @IsOptional() @IsString() RATE_LIMITS?: string;
  @Count(1_000_000_000, 0) OPEN_DELIVERIES_PER_ORGANIZATION = 1_000_000;
  @Count(1_000_000_000) TEST_RECIPIENTS_PER_DAY = 100;
  @Count(1_000_000_000) TEST_RECIPIENTS_PER_LIFETIME = 300;
  @Count(1_000_000_000) TEST_REQUESTS_PER_HOUR = 500;
  @Count(1_073_741_824) INBOUND_STORAGE_MB = 10_240;
  @Count(3_650) RETENTION_CONTENTS_DAYS = 30;
  @Count(1_200) RETENTION_EMAILS_MONTHS = 13;
  @Count(3_650) RETENTION_WEBHOOKS_DAYS = 30;
  @Count(8_760) RETENTION_IDEMPOTENCY_HOURS = 24;
  @Count(3_650) RETENTION_EXPORTS_DAYS = 7;
  @Count(1_200) RETENTION_AUDIT_MONTHS = 24;
  @Count(3_650) RETENTION_INBOUND_DAYS = 30;
  @Matches(HOST_NAME, { message: 'SIMULATOR_DOMAIN must be a host name' })
  SIMULATOR_DOMAIN = 'simulator.waybill.test';
  @IsString() TRUST_PROXY = 'false';
  @IsIn(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']) LOG_LEVEL = 'info';
  @toBoolean @IsBoolean() LOG_DELIVERIES = false;

  /** The OpenTelemetry variables that decide whether tracing is on; its library reads the others itself. */
  @IsOptional() @IsString() OTEL_EXPORTER_OTLP_ENDPOINT?: string;
  @IsOptional() @IsString() OTEL_EXPORTER_OTLP_TRACES_ENDPOINT?: string;
  @IsOptional() @IsString() OTEL_EXPORTER_OTLP_PROTOCOL?: string;
  @IsOptional() @IsString() OTEL_EXPORTER_OTLP_TRACES_PROTOCOL?: string;
  @IsOptional() @IsString() OTEL_TRACES_EXPORTER?: string;
  @toBoolean @IsBoolean() OTEL_SDK_DISABLED = false;
}

/** Whether a text names a DNS server: an address with or without a port. A name would itself have to be resolved. */
export function isDnsServer(text: string): boolean {
  if (isIP(text) !== 0) return true;
  const [, six, four, port] = /^(?:\[([^\]]+)\]|([\d.]+)):(\d{1,5})$/.exec(text) ?? [];
  return (isIPv6(six ?? '') || isIPv4(four ?? '')) && Number(port) > 0 && Number(port) <= 65_535;
}

/** Whether a listener can be bound to it. */
export function isAddressOrName(text: string): boolean {
  return isIP(text) !== 0 || HOST_NAME.test(text);
}
