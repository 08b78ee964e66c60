import { LRUCache } from 'lru-cache';
import { atMost } from '../../common/bounded-cache';
import { type Clock, DAY, SECOND } from '../../common/clock';
import { CommitUnknownError } from '../../common/errors/app-error';
import { ConfigurationError } from '../../config/load-config';
import type { AddressProgress, EgressAddressesRepository, UnusedVolume } from './egress-addresses.repository';

/**
 * Mails a day that a new address may send to one provider, by the day of its warm-up. Receivers publish no figures; large
 * senders publish schedules that begin with tens or hundreds of mails and double, more or less, until they come to hundreds of
 * thousands after two to six weeks (https://www.twilio.com/docs/sendgrid/ui/sending-email/warming-up-an-ip-address,
 * https://docs.oracle.com/en/cloud/saas/marketing/responsys-user-express/Help/Settings/IP_Warmup.htm). This one starts low and
 * ends after sixteen days with mail.
 */
export const DEFAULT_SCHEDULE: readonly number[] = [
  ...[50, 100, 200, 400, 800, 1_500, 3_000, 5_000],
  ...[10_000, 20_000, 40_000, 70_000, 100_000, 150_000, 250_000, 400_000],
];

const MAX_DAYS = 90;
const MAX_VOLUME = 100_000_000;

/**
 * `off`, or the volumes of day 1, day 2 and so on with commas between; unset: the default.
 * @returns empty when new addresses need no warm-up
 * @throws ConfigurationError
 */
export function parseWarmUpSchedule(text: string | undefined): readonly number[] {
  if (text === undefined) return DEFAULT_SCHEDULE;
  if (text.trim() === 'off') return [];
  const volumes = text.split(',').map((part) => (/^\s*\d{1,9}\s*$/.test(part) ? Number(part) : NaN));
  const isWrong = volumes.some((volume, day) => !(volume >= Math.max(1, volumes[day - 1] ?? 1)) || volume > MAX_VOLUME);
  if (isWrong || volumes.length > MAX_DAYS) {
    throw new ConfigurationError([
      `EGRESS_WARM_UP must be off, or up to ${MAX_DAYS} daily volumes that do not fall, like 50,100,200`,
    ]);
  }
  return volumes;
}

/** A worker reserves at most this part of a day's volume, so a crashed worker loses no more. */
const PART_OF_DAY = 1 / 20;
const MAX_ACCOUNTS = 20_000;
/** Reservations not used for this long are returned for other workers, which ask as often. */
const UNUSED_AFTER_MS = 60 * SECOND;

/** What this worker has of one address's volume at one provider. */
interface Account {
  left: number;
  /** How much to take next time. */
  ask: number;
  /** Monotonic: what is left is worth nothing after it. */
  dayEndsMs: number;
  /** Monotonic: until then there is no use in asking for more. */
  fullUntilMs: number;
  usedAtMs: number;
  asking: Promise<void> | undefined;
}

/** What an account had, and until when. */
interface Unused extends UnusedVolume {
  readonly account: Account;
  readonly dayEndsMs: number;
}

/**
 * How much each address that warms up may still send to a provider today. The volume is the installation's: workers take
 * small parts of it from the database before they send (as of the warm-up of domains, docs/adr/0014), so that it is never
 * exceeded, and a mail costs no statement of its own.
 */
export class WarmUpVolumes {
  private warming: ReadonlySet<string> = new Set();
  private readonly accounts = new LRUCache<string, Account>(atMost(MAX_ACCOUNTS));

  /** @param schedule daily volumes; none: nothing warms up */
  constructor(
    private readonly repository: Pick<EgressAddressesRepository, 'takeVolume' | 'returnVolume'>,
    readonly schedule: readonly number[],
    private readonly clock: Clock,
  ) {}

  /** Replaces the state by that of the database. */
  apply(addresses: readonly AddressProgress[]): void {
    const warming = new Set(addresses.filter(({ isWarm }) => !isWarm).map(({ address }) => address));
    for (const address of warming) if (!this.warming.has(address)) this.forget(address);
    this.warming = this.schedule.length > 0 ? warming : new Set();
  }

  /**
   * Counts a mail that is about to leave.
   * @returns undefined when it may; else the start of the next day
   * @throws UnavailableError
   */
  async take(address: string, provider: string): Promise<Date | undefined> {
    while (this.warming.has(address)) {
      const account = this.accountOf(address, provider);
      const leftMs = account.dayEndsMs - this.clock.monotonicMs();
      if (leftMs > 0 && account.left > 0) {
        account.left -= 1;
        account.usedAtMs = this.clock.monotonicMs();
        return undefined;
      }
      if (leftMs > 0 && account.fullUntilMs > this.clock.monotonicMs()) {
        return new Date(this.clock.now().getTime() + leftMs);
      }
      account.asking ??= this.ask(account, address, provider).finally(() => (account.asking = undefined));
      await account.asking;
    }
    return undefined;
  }

  /** It did not leave. @param takenAtMs monotonic, not after it was counted: what was counted yesterday is not today's */
  refund(address: string, provider: string, takenAtMs: number): void {
    const account = this.accounts.get(keyOf(address, provider));
    if (account !== undefined && takenAtMs >= account.dayEndsMs - DAY) account.left += 1;
  }

  /**
   * Gives back what is not needed. When that fails it is kept; where it may have happened it is not, as the volume is never exceeded.
   * @param what has not been used for a while; `all`: whatever is left, at the end of the worker
   * @throws UnavailableError
   */
  async giveBack(what: 'unused' | 'all'): Promise<void> {
    const nowMs = this.clock.monotonicMs();
    const unused: Unused[] = [];
    for (const [key, account] of this.accounts.entries()) {
      const isIdle = what === 'all' || nowMs - account.usedAtMs > UNUSED_AFTER_MS;
      if (account.left === 0 || !isIdle || account.dayEndsMs <= nowMs) continue;
      const [address = '', provider = ''] = key.split(' ');
      unused.push({ address, provider, amount: account.left, account, dayEndsMs: account.dayEndsMs });
      account.left = 0;
    }
    await this.repository.returnVolume(unused).catch((error: unknown) => {
      if (!(error instanceof CommitUnknownError)) this.keep(unused);
      throw error;
    });
  }

  private keep(unused: readonly Unused[]): void {
    const nowMs = this.clock.monotonicMs();
    for (const { account, amount, dayEndsMs } of unused) if (dayEndsMs > nowMs) account.left += amount;
  }

  private async ask(account: Account, address: string, provider: string): Promise<void> {
    const taken = await this.repository.takeVolume(address, provider, account.ask, this.schedule);
    if (taken === undefined || taken.isWarm || taken.volume === null) {
      this.warming = new Set([...this.warming].filter((one) => one !== address));
      return;
    }
    const nowMs = this.clock.monotonicMs();
    // Of the same day: what has been refunded or kept meanwhile.
    account.left = taken.granted + (account.dayEndsMs > nowMs ? account.left : 0);
    account.fullUntilMs = taken.granted === 0 ? nowMs + UNUSED_AFTER_MS : -Infinity;
    account.dayEndsMs = nowMs + taken.dayLeftMs;
    account.ask = Math.min(account.ask * 2, Math.max(1, Math.floor(taken.volume * PART_OF_DAY)));
  }

  private accountOf(address: string, provider: string): Account {
    const key = keyOf(address, provider);
    const known = this.accounts.get(key);
    if (known) return known;
    const never = -Infinity;
    const account = { left: 0, ask: 1, dayEndsMs: never, fullUntilMs: never, usedAtMs: never, asking: undefined };
    this.accounts.set(key, account);
    return account;
  }

  private forget(address: string): void {
    for (const key of this.accounts.keys()) if (key.startsWith(`${address} `)) this.accounts.delete(key);
  }
}

const keyOf = (address: string, provider: string): string => `${address} ${provider}`;
