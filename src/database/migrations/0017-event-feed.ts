// Old code still runs against it: its own event ids are of the same form. Building the index holds back writes meanwhile.
import { ForwardOnlyMigration } from './forward-only';

/**
 * Owner: emails. The event log is also the outbox of webhooks and the feed of the API: whoever follows it remembers the
 * last event id seen. For that the ids come from one clock, the database's, and nothing above the horizon is read.
 */
export class EventFeed1700000000017 extends ForwardOnlyMigration {
  readonly name = 'EventFeed1700000000017';

  protected readonly sql = `
    -- A UUID version 7 (RFC 9562): milliseconds, then 12 bits that keep the rows of one statement in order. Each parameter
    -- is used once, so that Postgres inlines it (2 µs instead of 10).
    create function event_id(moment timestamptz, number bigint) returns uuid
    language sql volatile parallel safe
    as $$
      select encode(
        int8send(((extract(epoch from moment) * 1000)::bigint << 16) | 28672 | (number & 4095))
          || substring(uuid_send(gen_random_uuid()) from 9),
        'hex')::uuid
    $$;

    -- No event with a smaller id will appear any more: event ids are made inside transactions, and none that may still
    -- commit began before. A reader asks for it in a statement of its own, before the one that reads (whose snapshot must
    -- be the later one). A long transaction that has written nothing, such as a dump, is not waited for.
    create function event_horizon() returns uuid
    language plpgsql volatile
    as $$
    declare
      asked_at timestamptz := clock_timestamp();
    begin
      return uuid_v7_floor(least(asked_at, (
        select min(xact_start)
        from pg_stat_activity
        where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()
          and (backend_xid is not null or xact_start > asked_at - interval '30 seconds')
      )));
    end $$;

    create index email_events_feed on email_events (organization_id, mode, id);
  `;
}
