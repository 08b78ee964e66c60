import { Clock, DatabaseClock, MINUTE, SECOND } from '../../common/clock';
import { BackfillsJob } from '../../database/installation/backfills.job';
import { Database, type ServerFacts } from '../../database/pool/database.service';
import { MasterKeyRecord } from '../../database/installation/installation.repository';
import type { DatabaseConnection } from '../../database/statements/activity';
import { QueueMeasures } from '../../delivery/queue/queue-measures.service';
import type { QueueMeasure } from '../../delivery/queue/sql/view-queue.sql';
import { EgressService } from '../../delivery/egress/egress.service';
import { EncryptedDkimKeysService } from '../../modules/domains/dkim/encrypted-dkim-keys.service';
import { RestrictionsService } from '../../modules/domains/restrictions/restrictions.service';
import type { Services } from '../session/cli-session';
import { type Finding, ok, statusAt } from './checks';

const OLDEST_POSTGRES = 14;
/** Beyond the second one the processes of this host claim and end nothing (`DatabaseClock`). */
const CLOCK_LIMITS_MS = { warning: SECOND, problem: 5 * SECOND };
const OLD_TRANSACTION_SECONDS = (10 * MINUTE) / SECOND;
const OVERDUE_SECONDS = (5 * MINUTE) / SECOND;

/** Version, writability, durability and locale of the database. */
export async function checkDatabase(services: Services, embedded: boolean): Promise<Finding> {
  return rateDatabase(await services.get(Database).serverFacts(), embedded);
}

/** With the locale C, an address such as `Νικος@…` is found as it was written, in small letters and in capitals, but not in other mixtures. */
export function rateDatabase(facts: Omit<ServerFacts, 'now'>, embedded: boolean): Finding {
  const { version, versionNumber, isReadOnly, lowersAllLetters, isDurable } = facts;
  const message = `${embedded ? 'embedded ' : ''}Postgres ${version}`;
  const details = { version, embedded, isReadOnly };
  if (isReadOnly) {
    const remedy = 'let DATABASE_URL name the primary, or end default_transaction_read_only';
    return { status: 'problem', message: `${message} is read-only, a standby most often: ${remedy}`, details };
  }
  if (Math.floor(versionNumber / 10_000) < OLDEST_POSTGRES) {
    return { status: 'problem', message: `${message} is older than ${OLDEST_POSTGRES}`, details };
  }
  if (!isDurable) {
    const why = 'has synchronous_commit = off: a crash of it loses accepted mail, and sends mail again';
    return { status: 'warning', message: `${message} ${why} (docs/operations.md)`, details };
  }
  if (lowersAllLetters) return ok(message, details);
  const why = 'has a locale without letters beyond ASCII: searches and erasures may miss addresses with such letters';
  return { status: 'warning', message: `${message} ${why} (docs/production.md)`, details };
}

/** This host's own clock: that of the services follows the database's. */
export async function checkClock(services: Services): Promise<Finding> {
  const clock = services.get(Clock);
  const ownMs = (): number => (clock instanceof DatabaseClock ? clock.ownNow() : clock.now()).getTime();
  const beforeMs = ownMs();
  const { now } = await services.get(Database).serverFacts();
  // The middle of the round trip, so that its duration does not count as a difference.
  return rateClock(Math.round(now.getTime() - (beforeMs + ownMs()) / 2));
}

/** @param differenceMs positive when the database is ahead */
export function rateClock(differenceMs: number): Finding {
  const direction = differenceMs < 0 ? 'behind' : 'ahead of';
  const message = `the database is ${Math.abs(differenceMs)} ms ${direction} this host`;
  return { status: statusAt(Math.abs(differenceMs), CLOCK_LIMITS_MS), message, details: { differenceMs } };
}

/** Reads and evaluates what the server's connections are doing. */
export async function checkConnections(services: Services): Promise<Finding> {
  return rateConnections(await services.get(Database).activity());
}

/** An old transaction, most often of another program, keeps dead rows of the queue alive; vacuum has to wait for it. */
function rateConnections(connections: readonly DatabaseConnection[]): Finding {
  const waiting = (kind: string) => connections.filter(({ waitsFor }) => waitsFor === kind).length;
  const [locks, storage] = [waiting('Lock'), waiting('IO')];
  const old = connections.filter(({ transactionSeconds }) => (transactionSeconds ?? 0) >= OLD_TRANSACTION_SECONDS);
  const details = { connections: connections.length, waitingForLocks: locks, waitingForStorage: storage, old };
  const message = `${connections.length} others, ${locks} wait for locks, ${storage} for storage`;
  if (old.length === 0) return ok(message, details);
  const named = old.map(({ pid, application, client, transactionSeconds }) => {
    const minutes = Math.floor((transactionSeconds ?? 0) / 60);
    return `process ${pid} (${application || 'no name'}, from ${client ?? 'this machine'}) for ${minutes} minutes`;
  });
  return { status: 'warning', message: `${message}; in a transaction: ${named.join(', ')}`, details };
}

/** The second check behind the tenant filter of each query (docs/adr/0023). */
export function checkRowSecurity(services: Services): Promise<Finding> {
  return Promise.resolve(rateRowSecurity(services.get(Database)));
}

function rateRowSecurity({ rowSecurity }: Pick<Database, 'rowSecurity'>): Finding {
  const details = { state: rowSecurity.state };
  if (rowSecurity.state === 'on') return ok(`requests run as ${rowSecurity.role}`, details);
  const why = rowSecurity.state === 'off' ? 'ROW_LEVEL_SECURITY is false' : rowSecurity.reason;
  return { status: 'warning', message: `off: ${why}`, details };
}

/** Work on what earlier releases have stored; slow on purpose, so an open one is no fault. */
export async function checkBackfills(services: Services): Promise<Finding> {
  const progress = await services.get(BackfillsJob).progress();
  const open = progress.filter(({ isFinished }) => !isFinished);
  const shown = open.map(({ name, percent }) => `${name} ${percent} %`);
  return ok(open.length > 0 ? `under way: ${shown.join(', ')}` : 'none is under way', { backfills: progress });
}

/** Readable is not enough: with a key other than the one that encrypted the DKIM keys all mail stays unsigned. */
export async function checkMasterKey(services: Services): Promise<Finding> {
  const { tried, known, opened } = await services.get(EncryptedDkimKeysService).sample();
  const details = { opened };
  const isKnown = await services.get(MasterKeyRecord).isKnown();
  if (opened === tried && !isKnown) {
    const message =
      'it is not the key that the processes use: set that one, or run `waybill keys re-encrypt` if this one is right';
    // One that opens them all sends mail all the same.
    return { status: tried === 0 ? 'problem' : 'warning', message, details };
  }
  if (tried === 0) return ok('readable; there is no DKIM key to try it on yet', details);
  if (opened === tried) return ok('opens the DKIM keys', details);
  const message =
    known < tried
      ? `it does not open the DKIM keys in this database: they were encrypted under another key (${tried - known} of ${tried})`
      : `${tried - opened} of ${tried} DKIM keys are damaged: they were encrypted under it and do not decrypt`;
  return { status: 'problem', message, details };
}

/** Measures and evaluates the queue. */
export async function checkQueue(services: Services): Promise<Finding> {
  return rateQueue(await services.get(QueueMeasures).measure());
}

/** Old work without a worker is stuck; with one, a destination may just be slow. */
export function rateQueue(measure: QueueMeasure): Finding {
  const { ready, waiting, claimed, workers } = measure;
  const oldestReadySeconds = Math.max(0, Math.round(measure.oldestReadySeconds));
  const message = `${ready} ready (oldest due for ${oldestReadySeconds} s), ${waiting} waiting, ${claimed} claimed`;
  const details = { ready, waiting, claimed, oldestReadySeconds };
  if (ready === 0 || oldestReadySeconds < OVERDUE_SECONDS) return ok(message, details);
  return workers === 0
    ? { status: 'problem', message: `${message}, and no worker runs`, details }
    : { status: 'warning', message, details };
}

/** Paused domains accept and deliver nothing: worth knowing, though it is meant. */
export async function checkSending(services: Services): Promise<Finding> {
  const counts = await services.get(RestrictionsService).count();
  const { slowed, paused } = counts;
  if (slowed + paused === 0) return ok('no domain is slowed or paused', { ...counts });
  return { status: 'warning', message: `${paused} domains are paused, ${slowed} slowed`, details: { ...counts } };
}

/** A receiver that refuses an address for its reputation does so for a reason: worth a look at block lists. */
export async function checkEgress(services: Services): Promise<Finding> {
  const addresses = (await services.get(EgressService).list()).flatMap((pool) => pool.addresses);
  const refused = addresses.filter(({ state }) => state === 'suspended');
  const details = { addresses: addresses.length, suspended: refused.map(({ address }) => address) };
  if (refused.length === 0) {
    const warming = addresses.filter((one) => one.warmUp !== undefined).map(({ address }) => address);
    return ok(warming.length > 0 ? `no address is refused; ${warming.join(', ')} warm up` : 'no address is refused', {
      ...details,
      warming,
    });
  }
  const said = refused.map(
    ({ address, suspensions }) => `${address} by ${suspensions.map(({ key }) => key).join(', ')}`,
  );
  return { status: 'warning', message: `refused for their reputation: ${said.join('; ')}`, details };
}

/** Whether a worker holds a lease. */
export async function checkWorkers(services: Services): Promise<Finding> {
  const { workers } = await services.get(QueueMeasures).measure();
  if (workers > 0) return ok(`${workers} running`, { workers });
  return {
    status: 'warning',
    message: 'none running: nothing is delivered until the service is started',
    details: { workers },
  };
}
