import { ConfigurationError } from '../../config/load-config';

/**
 * Mails a day that a new address may send to one provider, by the day of its warm-up. Receivers publish no figures; large senders
 * publish schedules that begin with tens or hundreds of mails and double, more or less, until they come to hundreds of
 * thousands after two to six weeks (https://www.twilio.com/docs/sendgrid/ui/sending-email/warming-up-an-ip-address,
 * https://docs.oracle.com/en/cloud/saas/marketing/responsys-user-express/Help/Settings/IP_Warmup.htm). This one begins low,
 * and is through within sixteen days on which mail was sent.
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
