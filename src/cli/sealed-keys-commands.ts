import type { Command } from 'commander';
import type { AppConfig } from '../config/config';
import { StoredMasterKey } from '../config/data-dir';
import { CliError } from './session/cli-error';
import type { CliSession, Services } from './session/cli-session';
import { fields, type Report } from './session/output';
import { type SealedKind, sealedKinds } from './sealed-kinds';

/** An error names a few; `keys` tells how many there are. */
const MAX_NAMED = 10;

/** `waybill keys …` */
export function addSealedKeysCommands(program: Command, session: CliSession): void {
  const group = program
    .command('keys')
    .description('DKIM keys, webhook secrets and privacy requests, sealed under the master key');
  group
    .command('rewrap')
    .description('seal them all again under the present or a new master key; can be repeated at any time')
    .option('--new-key <source>', 'a file that holds 32 bytes in base64, or env:NAME; default: MASTER_KEY')
    .action(({ newKey }: { newKey?: string }) => {
      const config = session.config();
      const key = newKey === undefined ? config.masterKey : session.readMasterKey(newKey);
      return session.run((services) => rewrap(services, config, key));
    });
}

async function rewrap(services: Services, config: AppConfig, masterKey: Buffer): Promise<Report> {
  const totals = new Map<SealedKind, number>();
  for (const kind of sealedKinds(services, masterKey)) totals.set(kind, await countOpening(kind));
  // Before the first is sealed again, so that at no time there is one whose master key no file holds.
  const fileReplaced = replaceStored(config, masterKey);
  const counts: [string, number][] = [];
  for (const [kind, total] of totals) counts.push([kind.counted, total], [kind.resealed, await kind.reseal()]);
  const report = { ...Object.fromEntries(counts), fileReplaced };
  return { json: report, text: fields(report) };
}

/** @throws CliError when something would be lost */
async function countOpening({ what, counted, named, examine }: SealedKind): Promise<number> {
  const { total, closed } = await examine();
  if (closed.length === 0) return total;
  const message = `${closed.length} of ${total} ${what} open under neither master key; nothing has been changed`;
  const details = { [counted]: total, closed: closed.length, [named]: closed.slice(0, MAX_NAMED) };
  throw new CliError('unhealthy', message, details);
}

/** Embedded mode: the present key goes into `master.key.previous`. Elsewhere the key is the operator's to set. */
function replaceStored({ database, dataDir, masterKey }: AppConfig, newKey: Buffer): boolean {
  const stored = new StoredMasterKey(dataDir);
  if (database.url !== undefined || !stored.holds(masterKey) || newKey.equals(masterKey)) return false;
  stored.replace(newKey);
  return true;
}
