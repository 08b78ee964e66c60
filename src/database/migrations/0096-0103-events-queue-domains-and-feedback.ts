import { commentOn, keptFor } from './data-map/comment-on';
import { BuildIndexesMigration, ForwardOnlyMigration } from './forward-only';

// Old code still runs against it: it adds columns. Rows that use them are written from a week later on, since old processes would
// not show the events that these record in addition.
/** Owner: emails. One row records the events of a mail that is sent in one short attempt. */
export class CompactEvents1700000000096 extends ForwardOnlyMigration {
  readonly name = 'CompactEvents1700000000096';

  protected readonly sql = `
    alter table email_events add column sending_ms integer, add column also_sent boolean;

    -- A new installation has no old processes.
    do $body$
    begin
      execute format(
        'create function compact_events_since() returns timestamptz language sql immutable parallel safe as $f$ select %L::timestamptz $f$',
        case when exists (select from organizations) then now() + interval '7 days' else 'epoch'::timestamptz end
      );
    end $body$;

    ${commentOn('email_events', 'RETENTION_EMAILS_MONTHS', {
      sending_ms: 'none: milliseconds since the attempt began',
      also_sent: 'none: whether the mail was handed over at the same moment',
    })}
  `;
}

// Old code still runs against it: it adds a column with a default, which an old process leaves as it is when it counts.
/** Owner: delivery. The organizations whose next mail is refused, as they have many deliveries that have not ended. */
export class Crowding1700000000097 extends ForwardOnlyMigration {
  readonly name = 'Crowding1700000000097';

  protected readonly sql = `
    alter table queue_measures add column crowding jsonb not null default '{}';
    ${commentOn('queue_measures', 'until the next count', {
      crowding: 'none: open deliveries by organization, of those that have as many as they may',
    })}
  `;
}

// Old code still runs against it: it adds a column with a default, which an old process leaves as it is.
/** Owner: delivery. Attempts that a server refused for good before it had heard of the recipient; a few more are made. */
export class Refusals1700000000098 extends ForwardOnlyMigration {
  readonly name = 'Refusals1700000000098';

  protected readonly sql = `
    alter table deliveries add column refusals smallint not null default 0;
    ${commentOn('deliveries', 'until the delivery has ended: four days at most after it was due', {
      refusals: 'none: attempts that were refused for good before RCPT',
    })}
  `;
}

// Old code still runs against it: it only changes what is said of a table. Old code deletes what new code would keep.
/** Owner: domains. What is kept of a removed domain stays when it is added again: it may be removed again before it is verified. */
export class RemovedDomainsStay1700000000099 extends ForwardOnlyMigration {
  readonly name = 'RemovedDomainsStay1700000000099';

  protected readonly sql = `
    ${keptFor('removed_domains', 'as long as the organization')}
  `;
}

// Old code still runs against it: it adds a column that may be null.
/** Owner: inbound. Whose mail to a public mailbox it is: each network has a share of the mailbox. */
export class FeedbackNetworks1700000000100 extends ForwardOnlyMigration {
  readonly name = 'FeedbackNetworks1700000000100';

  protected readonly sql = `
    alter table feedback_reports add column network text;
    ${commentOn(
      'feedback_reports',
      'RETENTION_INBOUND_DAYS; a day when a program’s address got no complaint about our mail',
      {
        network: 'ip: the server that delivered it, of IPv6 its /64 network',
      },
    )}
  `;
}

// Old code still runs against it: it only adds an index.
/** Owner: inbound. */
export class FeedbackNetworksIndex1700000000101 extends BuildIndexesMigration {
  readonly name = 'FeedbackNetworksIndex1700000000101';

  /** A message to a public mailbox counts what its network has sent there. */
  protected readonly indexes = [
    { name: 'feedback_reports_network', table: 'feedback_reports', definition: '(mailbox, network, id)' },
  ];
}

// Old code still runs against it: it only adds a table, which an old process does not know.
/** Owner: database. By it a process with another master key is recognized, also before there is anything to decrypt. */
export class MasterKeyRecord1700000000102 extends ForwardOnlyMigration {
  readonly name = 'MasterKeyRecord1700000000102';

  protected readonly sql = `
    -- One row, from the first start on.
    create table master_key_record (
      id smallint primary key check (id = 1),
      key_id bigint not null,
      recorded_at timestamptz not null
    );
    ${commentOn('master_key_record', 'as long as the installation', {
      id: 'none: the one row',
      key_id: 'none: distinguishes master keys, and reveals nothing of them',
      recorded_at: 'none: when a process last began to use it',
    })}
  `;
}

// Old code still runs against it: it adds a column with a default, which an old process leaves as it is when it counts.
/** Owner: delivery. How much of what is ready waits for its destination, and not for a worker. */
export class HeldBackDeliveries1700000000103 extends ForwardOnlyMigration {
  readonly name = 'HeldBackDeliveries1700000000103';

  protected readonly sql = `
    alter table queue_measures add column held_back integer not null default 0;
    ${commentOn('queue_measures', 'until the next count', {
      held_back: 'none: deliveries that can start and whose destination is held back',
      oldest_ready_at: 'none: when the oldest that can start, at a destination that is not held back, was due',
    })}
  `;
}
