import { isUuid } from '../../common/ids';

/** Organizations that one notification names; Postgres takes 8,000 bytes. */
const MOST_NAMED = 100;
const PAYLOAD = /^(\d{1,9}|\*) (\d{1,9}) (\S+)$/;
const TURNS = 1_000_000;

/**
 * New work, as in a notification. As many workers respond as the work needs, counted round from `turn`, a different one each
 * time.
 */
export interface WorkCall {
  /** Deliveries; infinite for a call to every worker. */
  readonly count: number;
  readonly turn: number;
  /** Undefined: of any organization. */
  readonly organizationIds: ReadonlySet<string> | undefined;
}

/** This worker's position among those running: `rank` from 0. */
export interface WorkerRank {
  readonly workers: number;
  readonly rank: number;
}

/** When nothing more is known. */
export const CALL_TO_ALL: WorkCall = { count: Infinity, turn: 0, organizationIds: undefined };

/** @param random from 0 to 1 */
export function formatCall({ count, organizationIds }: Omit<WorkCall, 'turn'>, random: number): string {
  const isNamed = organizationIds !== undefined && organizationIds.size > 0 && organizationIds.size <= MOST_NAMED;
  const names = isNamed ? [...organizationIds].join(',') : '*';
  return `${Number.isFinite(count) ? count : '*'} ${Math.floor(random * TURNS)} ${names}`;
}

/** Whatever is not understood, as from another release, is a call to all. */
export function parseCall(payload: string | undefined): WorkCall {
  const [, count, turn, names] = PAYLOAD.exec(payload ?? '') ?? [];
  if (count === undefined || names === undefined) return CALL_TO_ALL;
  const ids = names.split(',');
  const organizationIds = ids.every(isUuid) ? new Set(ids) : undefined;
  return { count: count === '*' ? Infinity : Number(count), turn: Number(turn), organizationIds };
}

/** Whether a worker is meant. @param perWorker deliveries that are worth another worker */
export function isCallFor({ workers, rank }: WorkerRank, { count, turn }: WorkCall, perWorker: number): boolean {
  const wanted = Math.ceil(count / perWorker);
  return wanted >= workers || (((rank - turn) % workers) + workers) % workers < wanted;
}
