import type { MigrationInterface } from 'typeorm';
import * as organizationsAndDomains from '../migrations/0001-0003-organizations-and-domains';
import * as emailsAndQueue from '../migrations/0004-0005-emails-and-queue';
import * as suppressionsStatsAndMailbox from '../migrations/0006-0009-suppressions-stats-and-mailbox';
import * as domainLifecycle from '../migrations/0010-0016-domain-lifecycle';
import * as eventsAndWebhooks from '../migrations/0017-0020-events-and-webhooks';
import * as privacyAndRetention from '../migrations/0021-0028-privacy-and-retention';
import * as dataMapAndFairTurns from '../migrations/0029-0040-data-map-and-fair-turns';
import * as operators from '../migrations/0041-0042-operators';
import * as distributedTablesAndTemplates from '../migrations/0043-0047-distributed-tables-and-templates';
import * as consoleSessionsAndDestinations from '../migrations/0050-0054-console-sessions-and-destinations';
import * as inboundMail from '../migrations/0056-0058-inbound-mail';
import * as tlsAndWarmUp from '../migrations/0059-0062-tls-and-warm-up';
import * as reportsAndHeldDeliveries from '../migrations/0066-0085-reports-and-held-deliveries';
import * as compressedContents from '../migrations/0086-0092-compressed-contents';
import * as changingColumnsAndTraces from '../migrations/0093-0095-changing-columns-and-traces';
import * as eventsQueueDomainsAndFeedback from '../migrations/0096-0103-events-queue-domains-and-feedback';
import * as templateBytes from '../migrations/0104-template-bytes';
import * as confirmedPeers from '../migrations/0105-confirmed-peers';
import * as reportedRates from '../migrations/0106-reported-rates';

/**
 * The oldest release that runs on the schema of all of these; older ones refuse to start on it and name this one. To be
 * raised by a migration that removes or changes what such a release still uses.
 */
export const OLDEST_RELEASE = '0.1.0';

const FILES = [
  organizationsAndDomains,
  emailsAndQueue,
  suppressionsStatsAndMailbox,
  domainLifecycle,
  eventsAndWebhooks,
  privacyAndRetention,
  dataMapAndFairTurns,
  operators,
  distributedTablesAndTemplates,
  consoleSessionsAndDestinations,
  inboundMail,
  tlsAndWarmUp,
  reportsAndHeldDeliveries,
  compressedContents,
  changingColumnsAndTraces,
  eventsQueueDomainsAndFeedback,
  templateBytes,
  confirmedPeers,
  reportedRates,
];

type Migration = new () => MigrationInterface & { readonly name: string };

/** In the order in which they run: of the digits at the end of their names, as TypeORM reads them. */
export const MIGRATIONS = FILES.flatMap((file) => Object.values<Migration>(file)).sort(
  (one, other) => Number(one.name.slice(-13)) - Number(other.name.slice(-13)),
);
