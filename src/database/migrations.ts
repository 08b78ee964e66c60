import { UuidV7Partitions1700000000001 } from './migrations/0001-uuid-v7-partitions';
import { OrganizationsAndKeys1700000000002 } from './migrations/0002-organizations-and-keys';
import { Domains1700000000003 } from './migrations/0001-0003-organizations-and-domains';
import { Emails1700000000004 } from './migrations/0004-0005-emails-and-queue';
import { DeliveryQueue1700000000005 } from './migrations/0005-delivery-queue';
import { SuppressionsAndStats1700000000006 } from './migrations/0006-0009-suppressions-stats-and-mailbox';
import { ThrottleHits1700000000007 } from './migrations/0007-throttle-hits';
import { Mailbox1700000000008 } from './migrations/0008-mailbox';
import { InboundReports1700000000009 } from './migrations/0009-inbound-reports';
import { DomainLifecycle1700000000010 } from './migrations/0010-0016-domain-lifecycle';
import { AuditLog1700000000011 } from './migrations/0011-audit-log';
import { WarmUp1700000000012 } from './migrations/0012-warm-up';
import { PublishedKeys1700000000013 } from './migrations/0013-published-keys';
import { CheckPatience1700000000014 } from './migrations/0014-check-patience';
import { ExpiredDkimKeys1700000000015 } from './migrations/0015-expired-dkim-keys';
import { RemovedDomains1700000000016 } from './migrations/0016-removed-domains';
import { EventFeed1700000000017 } from './migrations/0017-event-feed';
import { SuppressionList1700000000018 } from './migrations/0018-suppression-list';
import { ReportProcessing1700000000019 } from './migrations/0019-report-processing';
import { Webhooks1700000000020 } from './migrations/0017-0020-events-and-webhooks';
import { SendingStatus1700000000021 } from './migrations/0021-sending-status';
import { StatsChecks1700000000022 } from './migrations/0022-stats-checks';
import { ListCounts1700000000023 } from './migrations/0023-list-counts';
import { Privacy1700000000024 } from './migrations/0024-privacy';
import { TrackingOptIn1700000000025 } from './migrations/0025-tracking-opt-in';
import { SuppressionHashKeys1700000000026 } from './migrations/0026-suppression-hash-keys';
import { Retention1700000000027 } from './migrations/0021-0028-privacy-and-retention';
import { AuditGuard1700000000028 } from './migrations/0028-audit-guard';
import { DataMap1700000000029 } from './migrations/0029-data-map';
import { RefuseListed1700000000030 } from './migrations/0030-refuse-listed';
import { JobLeases1700000000031 } from './migrations/0031-job-leases';
import { ExcusedBounces1700000000032 } from './migrations/0032-excused-bounces';
import { MissingDomains1700000000033 } from './migrations/0033-missing-domains';
import { FairTurns1700000000034 } from './migrations/0029-0040-data-map-and-fair-turns';
import { SuspectDeliveries1700000000035 } from './migrations/0035-suspect-deliveries';
import { QueueMeasures1700000000036 } from './migrations/0036-queue-measures';
import { BackgroundTurns1700000000037 } from './migrations/0037-background-turns';
import { MailboxOwners1700000000038 } from './migrations/0038-mailbox-owners';
import { WebhooksDue1700000000039 } from './migrations/0039-webhooks-due';
import { WatchedSessions1700000000040 } from './migrations/0040-watched-sessions';
import { Operators1700000000041 } from './migrations/0041-0042-operators';
import { QueueActions1700000000042 } from './migrations/0042-queue-actions';
import { DistributedTables1700000000043 } from './migrations/0043-0047-distributed-tables-and-templates';
import { Templates1700000000044 } from './migrations/0044-templates';
import { BackfillRuns1700000000045 } from './migrations/0045-backfill-runs';
import { OperatorIndexes1700000000046 } from './migrations/0046-operator-indexes';
import { RawMessages1700000000047 } from './migrations/0047-raw-messages';
import { AttemptTraces1700000000050 } from './migrations/0050-attempt-traces';
import { ResentEmails1700000000051 } from './migrations/0051-resent-emails';
import { ConsoleSessions1700000000052 } from './migrations/0052-console-sessions';
import { Destinations1700000000053 } from './migrations/0050-0054-console-sessions-and-destinations';
import { EgressSuspensions1700000000054 } from './migrations/0054-egress-suspensions';
import { TraceContext1700000000056 } from './migrations/0056-trace-context';
import { InboundMail1700000000057 } from './migrations/0056-0058-inbound-mail';
import { ProviderStats1700000000058 } from './migrations/0058-provider-stats';
import { BlockListChecks1700000000059 } from './migrations/0059-block-list-checks';
import { RequireTls1700000000060 } from './migrations/0060-require-tls';
import { MtaStsPolicies1700000000061 } from './migrations/0059-0062-tls-and-warm-up';
import { AddressWarmUp1700000000062 } from './migrations/0062-address-warm-up';
import { WebhookAnswers1700000000066 } from './migrations/0066-webhook-answers';
import { DmarcSources1700000000067 } from './migrations/0066-0085-reports-and-held-deliveries';
import { TlsResults1700000000068 } from './migrations/0068-tls-results';
import { TlsSessions1700000000069 } from './migrations/0069-tls-sessions';
import { TlsReportPolicies1700000000070 } from './migrations/0070-tls-report-policies';
import { TriedDeliveries1700000000076 } from './migrations/0076-tried-deliveries';
import { InboundLists1700000000080 } from './migrations/0080-inbound-lists';
import { HeldDeliveries1700000000083 } from './migrations/0083-held-deliveries';
import { RuledDestinations1700000000084 } from './migrations/0084-ruled-destinations';
import { SessionKeys1700000000085 } from './migrations/0085-session-keys';
import { CompressedContents1700000000086 } from './migrations/0086-0092-compressed-contents';
import { CrowdedInboundMail1700000000089 } from './migrations/0089-crowded-inbound-mail';
import { AttachmentsAsTheyAre1700000000090 } from './migrations/0090-attachments-as-they-are';
import { WordsOfTenants1700000000091 } from './migrations/0091-words-of-tenants';
import { HorizonOfOthers1700000000092 } from './migrations/0092-horizon-of-others';
import { ChangingColumnsLast1700000000093 } from './migrations/0093-0095-changing-columns-and-traces';
import { PackedTraces1700000000094 } from './migrations/0094-packed-traces';
import { HowLongItIsKept1700000000095 } from './migrations/0095-how-long-it-is-kept';
import { CompactEvents1700000000096 } from './migrations/0096-compact-events';

/**
 * The oldest release that runs on the schema of all of these; older ones refuse to start on it and name this one. To be
 * raised by a migration that removes or changes what such a release still uses.
 */
export const OLDEST_RELEASE = '0.1.0';

/** In the order in which they run. */
export const MIGRATIONS = [
  UuidV7Partitions1700000000001,
  OrganizationsAndKeys1700000000002,
  Domains1700000000003,
  Emails1700000000004,
  DeliveryQueue1700000000005,
  SuppressionsAndStats1700000000006,
  ThrottleHits1700000000007,
  Mailbox1700000000008,
  InboundReports1700000000009,
  DomainLifecycle1700000000010,
  AuditLog1700000000011,
  WarmUp1700000000012,
  PublishedKeys1700000000013,
  CheckPatience1700000000014,
  ExpiredDkimKeys1700000000015,
  RemovedDomains1700000000016,
  EventFeed1700000000017,
  SuppressionList1700000000018,
  ReportProcessing1700000000019,
  Webhooks1700000000020,
  SendingStatus1700000000021,
  StatsChecks1700000000022,
  ListCounts1700000000023,
  Privacy1700000000024,
  TrackingOptIn1700000000025,
  SuppressionHashKeys1700000000026,
  Retention1700000000027,
  AuditGuard1700000000028,
  DataMap1700000000029,
  RefuseListed1700000000030,
  JobLeases1700000000031,
  ExcusedBounces1700000000032,
  MissingDomains1700000000033,
  FairTurns1700000000034,
  SuspectDeliveries1700000000035,
  QueueMeasures1700000000036,
  BackgroundTurns1700000000037,
  MailboxOwners1700000000038,
  WebhooksDue1700000000039,
  WatchedSessions1700000000040,
  Operators1700000000041,
  QueueActions1700000000042,
  DistributedTables1700000000043,
  Templates1700000000044,
  BackfillRuns1700000000045,
  OperatorIndexes1700000000046,
  RawMessages1700000000047,
  AttemptTraces1700000000050,
  ResentEmails1700000000051,
  ConsoleSessions1700000000052,
  Destinations1700000000053,
  EgressSuspensions1700000000054,
  TraceContext1700000000056,
  InboundMail1700000000057,
  ProviderStats1700000000058,
  BlockListChecks1700000000059,
  RequireTls1700000000060,
  MtaStsPolicies1700000000061,
  AddressWarmUp1700000000062,
  WebhookAnswers1700000000066,
  DmarcSources1700000000067,
  TlsResults1700000000068,
  TlsSessions1700000000069,
  TlsReportPolicies1700000000070,
  TriedDeliveries1700000000076,
  InboundLists1700000000080,
  HeldDeliveries1700000000083,
  RuledDestinations1700000000084,
  SessionKeys1700000000085,
  CompressedContents1700000000086,
  CrowdedInboundMail1700000000089,
  AttachmentsAsTheyAre1700000000090,
  WordsOfTenants1700000000091,
  HorizonOfOthers1700000000092,
  ChangingColumnsLast1700000000093,
  PackedTraces1700000000094,
  HowLongItIsKept1700000000095,
  CompactEvents1700000000096,
];
