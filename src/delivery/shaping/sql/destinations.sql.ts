// Findings about groups of destinations that workers share with each other and with operators.
import type { Statement } from '../../../database/statements/statement';
import type { DestinationRule } from '../shaping.entity';

/** One worker's report on one group. */
export interface ReportedGroup {
  readonly key: string;
  readonly active: number;
  readonly concurrency: number;
  readonly pauses: number;
  /** 0: no pause. */
  readonly pausedForMs: number;
  readonly cause: string | undefined;
  /** Undefined: it has changed nothing by itself. */
  readonly changedAgoMs: number | undefined;
  readonly lastResponse: string | undefined;
  readonly mxHosts: readonly string[];
  readonly domains: readonly string[];
  readonly counts: Readonly<Record<'delivered' | 'deferred' | 'bounced', number>>;
  /** Attempts begun in a minute, as of late. */
  readonly perMinute: number;
}

// Writes what a worker has met since it last did: a row of its own for each group.
// Writes: destination_reports (primary key). Locks: the worker's own rows, in key order. Rows: the groups of two seconds.
// Not the ORM: an upsert of many rows, by the server's clock. Lists come as JSON: an array of arrays would have to be square.
const REPORT = `
  insert into destination_reports as r (
    key, session_id, active, concurrency, pauses, paused_until, cause, changed_at, last_response, mx_hosts, domains,
    delivered, deferred, bounced, per_minute
  )
  select g.key, $1, g.active, g.concurrency, g.pauses,
    case when g.paused_ms > 0 then now() + g.paused_ms * interval '1 millisecond' end, g.cause,
    now() - g.changed_ms * interval '1 millisecond', g.last_response,
    array(select jsonb_array_elements_text(g.lists -> 'mxHosts')), array(select jsonb_array_elements_text(g.lists -> 'domains')),
    g.delivered, g.deferred, g.bounced, g.per_minute
  from unnest(
    $2::text[], $3::int[], $4::int[], $5::int[], $6::float8[], $7::text[], $8::float8[], $9::text[], $10::jsonb[],
    $11::int[], $12::int[], $13::int[], $14::int[]
  ) as g (
    key, active, concurrency, pauses, paused_ms, cause, changed_ms, last_response, lists, delivered, deferred, bounced, per_minute
  )
  order by g.key
  on conflict (key, session_id) do update set
    active = excluded.active, concurrency = excluded.concurrency, pauses = excluded.pauses,
    paused_until = excluded.paused_until, cause = excluded.cause, changed_at = excluded.changed_at,
    last_response = excluded.last_response, mx_hosts = excluded.mx_hosts, domains = excluded.domains,
    delivered = excluded.delivered, deferred = excluded.deferred, bounced = excluded.bounced, per_minute = excluded.per_minute,
    reported_at = now()`;

/** Replaces a worker's state of some destinations, which the other workers read. */
export function reportGroups(sessionId: string, groups: readonly ReportedGroup[]): Statement<never> {
  return {
    name: 'report-destinations',
    text: REPORT,
    values: [
      sessionId,
      groups.map(({ key }) => key),
      groups.map(({ active }) => active),
      groups.map(({ concurrency }) => concurrency),
      groups.map(({ pauses }) => pauses),
      groups.map(({ pausedForMs }) => pausedForMs),
      groups.map(({ cause }) => cause ?? null),
      groups.map(({ changedAgoMs }) => changedAgoMs ?? null),
      groups.map(({ lastResponse }) => lastResponse ?? null),
      groups.map(({ mxHosts, domains }) => JSON.stringify({ mxHosts, domains })),
      groups.map(({ counts }) => counts.delivered),
      groups.map(({ counts }) => counts.deferred),
      groups.map(({ counts }) => counts.bounced),
      groups.map(({ perMinute }) => perMinute),
    ],
  };
}

/** Findings of another worker that may be new to this one. */
export interface PeerChange {
  key: string;
  pausedForMs: number;
  pauses: number;
  concurrency: number;
  cause: string | null;
  agoMs: number;
}

// What other workers, those that have ended too, have paused, opened or slowed by themselves since a moment.
// Reads: destination_reports (index destination_reports_changed). Locks: none. Rows: the changes of some seconds.
// Not the ORM: the server's clock.
const CHANGES = `
  select key, coalesce(greatest(0, extract(epoch from paused_until - now()) * 1000), 0)::float8 as "pausedForMs", pauses,
    concurrency, cause, extract(epoch from now() - changed_at)::float8 * 1000 as "agoMs"
  from destination_reports
  where changed_at > now() - make_interval(secs => $2::float8 / 1000) and session_id <> $1
  order by changed_at`;

/** @param withinMs how far back to read */
export function findChanges(sessionId: string, withinMs: number): Statement<PeerChange> {
  return { name: 'find-destination-changes', text: CHANGES, values: [sessionId, withinMs] };
}

/** A rule as it is read. */
export type ListedRule = Pick<DestinationRule, 'id' | 'key' | 'source' | 'effect' | 'value' | 'cause' | 'until'> & {
  readonly since: Date;
  readonly agoMs: number;
};

// The rules that hold.
// Reads: destination_rules (whole: some dozens). Locks: none. Rows: all that are not over.
// Not the ORM: the server's clock.
const RULES = `
  select id, key, source, effect, value, cause, until, created_at as since,
    extract(epoch from now() - created_at)::float8 * 1000 as "agoMs"
  from destination_rules
  where until is null or until > now()
  order by key, source, effect`;

/** Returns the limits and pauses in force, of every source. */
export function listRules(): Statement<ListedRule> {
  return { name: 'list-destination-rules', text: RULES, values: [] };
}

/** A rule to be written. */
export interface WantedRule extends Pick<DestinationRule, 'id' | 'key' | 'source' | 'effect' | 'value' | 'cause'> {
  /** Null: until it is removed. */
  readonly until: Date | null;
  /** Instead of `until`: for so long from now. */
  readonly forMs?: number;
}

// Writes rules. A reply that wants still less lowers the one that holds already, and prolongs it; any other is replaced.
// Writes: destination_rules (unique key). Locks: those rows, in key order. Rows: a few.
// Not the ORM: an upsert by the server's clock.
const WRITE = `
  insert into destination_rules as r (id, key, source, effect, value, cause, until)
  select id, key, source, effect, value, cause, coalesce(until, now() + for_ms * interval '1 millisecond')
  from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::int[], $6::text[], $7::timestamptz[], $8::float8[])
    as w (id, key, source, effect, value, cause, until, for_ms)
  order by key, source, effect
  on conflict (key, source, effect) do update set
    value = case when r.source = 'reply' and r.until > now() then least(r.value, excluded.value) else excluded.value end,
    cause = excluded.cause, until = excluded.until, created_at = now()`;

/** @param rules no two of one key, source and effect */
export function writeRules(rules: readonly WantedRule[]): Statement<never> {
  return {
    name: 'write-destination-rules',
    text: WRITE,
    values: [
      rules.map(({ id }) => id),
      rules.map(({ key }) => key),
      rules.map(({ source }) => source),
      rules.map(({ effect }) => effect),
      rules.map(({ value }) => value),
      rules.map(({ cause }) => cause),
      rules.map(({ until }) => until),
      rules.map(({ forMs }) => forMs ?? null),
    ],
  };
}

/** A group with the findings of all workers. */
export interface FoldedGroup {
  key: string;
  mxHosts: string[];
  domains: string[];
  active: number;
  delivered: number;
  deferred: number;
  bounced: number;
  /** Running ones, whether they have used the group or not. */
  workers: number;
  /** Of the worker that has changed it last. */
  pauses: number;
  pausedUntil: Date | null;
  cause: string | null;
  lastResponse: string | null;
}

const RECENT = "r.reported_at > now() - interval '1 hour'";
/** No worker uses a group whose mail is held back: its members are kept for as long as its rules hold. */
const HAS_RULE = `exists (select from destination_rules d where d.key = r.key and (d.until is null or d.until > now()))`;

// Folds what workers have reported within the last hour: of all groups or one, or of those that are held back or among the keys.
// Of a group that a rule is about its hosts and domains are known for longer. Live workers alone have anything under way.
// Reads: destination_reports, worker_sessions, destination_rules (unique key). Locks: none. Rows: up to $2, the busiest first.
// Not the ORM: aggregates with an order of their own.
const fold = (domains: string, where: string, having: string): string => `
  select r.key,
    (array_agg(to_jsonb(r.mx_hosts) order by r.reported_at desc))[1] as "mxHosts",
    (array_agg(to_jsonb(${domains}) order by cardinality(r.domains) desc, r.reported_at desc))[1] as domains,
    coalesce(sum(r.active) filter (where s.lease_until > now()), 0)::int as active,
    coalesce(sum(r.delivered) filter (where ${RECENT}), 0)::int as delivered,
    coalesce(sum(r.deferred) filter (where ${RECENT}), 0)::int as deferred,
    coalesce(sum(r.bounced) filter (where ${RECENT}), 0)::int as bounced,
    coalesce((array_agg(r.pauses order by r.changed_at desc nulls last) filter (where ${RECENT}))[1], 0) as pauses,
    (array_agg(r.paused_until order by r.changed_at desc nulls last) filter (where ${RECENT}))[1] as "pausedUntil",
    (array_agg(r.cause order by r.changed_at desc nulls last) filter (where ${RECENT}))[1] as cause,
    (array_agg(r.last_response order by r.reported_at desc) filter (where r.last_response is not null))[1] as "lastResponse",
    (select count(*) from worker_sessions w where w.lease_until > now())::int as workers
  from destination_reports r
  left join worker_sessions s on s.id = r.session_id
  where (${RECENT} or ${HAS_RULE}) ${where}
  group by r.key
  ${having}
  order by sum(r.delivered + r.deferred + r.bounced) filter (where ${RECENT}) desc nulls last, r.key
  limit $2`;

/** A group that is held back may have a thousand domains. */
const FOLD = fold('r.domains[1:20]', 'and ($1::text is null or r.key = $1)', '');
const IS_CHANGED = `(array_agg(r.pauses > 0 or r.cause is not null or r.paused_until > now() order by r.changed_at desc nulls last)
    filter (where ${RECENT}))[1]`;
const FOLD_HELD_BACK = fold('r.domains', '', `having ${IS_CHANGED} or r.key = any ($1::text[])`);

/** @param key undefined for all */
export function foldGroups(key: string | undefined, limit: number): Statement<FoldedGroup> {
  return { name: 'fold-destinations', text: FOLD, values: [key ?? null, limit] };
}

/** @param keys of groups that rules are about */
export function foldHeldBack(keys: readonly string[], limit: number): Statement<FoldedGroup> {
  return { name: 'fold-held-destinations', text: FOLD_HELD_BACK, values: [keys, limit] };
}

// Removes what is over: reports of an hour ago, and rules that have ended. Of a group that a rule is about, the newest stays,
// without what the receiving side said, which may name people.
// Writes: destination_reports (index destination_reports_reported), destination_rules. Locks: those rows. Rows: what an hour
// has left, and one for each rule. Not the ORM: two tables by the server's clock.
const IS_OVER = "r.reported_at < now() - interval '1 hour'";
const IS_NEWEST =
  'not exists (select from destination_reports n where n.key = r.key and (n.reported_at, n.session_id) > (r.reported_at, r.session_id))';
const REMOVE = `
  with reports as (
    delete from destination_reports r
    where ${IS_OVER} and not (${HAS_RULE} and ${IS_NEWEST})
    returning 1
  ), cleared as (
    update destination_reports r
    set cause = null, last_response = null
    where ${IS_OVER} and ${HAS_RULE} and ${IS_NEWEST} and (r.cause is not null or r.last_response is not null)
  ), rules as (
    delete from destination_rules where until < now() returning 1
  )
  select ((select count(*) from reports) + (select count(*) from rules))::int as removed`;

/** Deletes reports and rules that no longer apply. One row: how many. */
export function removeOver(): Statement<{ removed: number }> {
  return { name: 'remove-old-destinations', text: REMOVE, values: [] };
}
