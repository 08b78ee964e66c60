import type { Command } from 'commander';
import type { AppConfig } from '../config/config';
import { StoredMasterKey } from '../config/master-key';
import { SealedKeysService } from '../modules/domains/dkim/sealed-keys.service';
import { CliError } from './cli-error';
import type { CliSession, Services } from './cli-session';
import type { Report } from './output';
import { fields } from './text';

/** An error names a few; `keys` tells how many there are. */
const MAX_NAMED = 10;

/** `waybill keys …` */
export function addSealedKeysCommands(program: Command, session: CliSession): void {
  const group = program.command('keys').description('the private DKIM keys, sealed under the master key');
  group
    .command('rewrap')
    .description('seal every key again under the present or a new master key; can be repeated at any time')
    .option('--new-key <source>', 'a file that holds 32 bytes in base64, or env:NAME; default: MASTER_KEY')
    .action(({ newKey }: { newKey?: string }) => {
      const config = session.config();
      const key = newKey === undefined ? config.masterKey : session.readMasterKey(newKey);
      return session.run((services) => rewrap(services, config, key));
    });
}

async function rewrap(services: Services, config: AppConfig, masterKey: Buffer): Promise<Report> {
  const sealedKeys = services.get(SealedKeysService);
  const vault = sealedKeys.vaultUnder(masterKey);
  const { keys, closed } = await sealedKeys.examine(vault);
  if (closed.length > 0) {
    throw new CliError(
      'unhealthy',
      `${closed.length} of ${keys} DKIM keys open under neither master key; nothing has been changed`,
      { keys, closed: closed.length, domains: closed.slice(0, MAX_NAMED) },
    );
  }
  // Before the first key is sealed again, so that at no time there is one whose master key no file holds.
  const fileReplaced = replaceStored(config, masterKey);
  const resealed = await sealedKeys.reseal(vault);
  const report = { keys, resealed, fileReplaced };
  return { json: report, text: fields(report) };
}

/** Embedded mode: the present key goes into `master.key.previous`. Elsewhere the key is the operator's to set. */
function replaceStored({ database, dataDir, masterKey }: AppConfig, newKey: Buffer): boolean {
  const stored = new StoredMasterKey(dataDir);
  if (database.url !== undefined || !stored.holds(masterKey) || newKey.equals(masterKey)) return false;
  stored.replace(newKey);
  return true;
}
