import { Injectable } from '@nestjs/common';
import { AppConfig } from '../../../config/config';
import { DkimVault } from './dkim-vault';
import { SealedKeysRepository } from './sealed-keys.repository';
import type { SealedKeyRow } from './sql/list-sealed-keys.sql';

/** What the master key can do for some of the keys in this database. */
export interface SampleOfKeys {
  readonly tried: number;
  /** Sealed under a master key that this process has. */
  readonly known: number;
  readonly opened: number;
}

/** A wrong master key opens none of them, so a few are enough. */
const SAMPLE = 20;

/** The private DKIM keys of all organizations, as they are stored: for whoever looks after the master key. */
@Injectable()
export class SealedKeysService {
  constructor(
    private readonly keys: SealedKeysRepository,
    private readonly vault: DkimVault,
    private readonly config: AppConfig,
  ) {}

  /** Tries the master key on a few keys. */
  async sample(): Promise<SampleOfKeys> {
    const rows = await this.keys.sample(SAMPLE);
    return {
      tried: rows.length,
      known: rows.filter(({ sealed }) => this.vault.knows(sealed)).length,
      opened: rows.filter((row) => opens(this.vault, row)).length,
    };
  }

  /** The vault of the time after a change to another master key: it still opens what is sealed under the present one. */
  vaultUnder(masterKey: Buffer): DkimVault {
    const { config } = this;
    if (masterKey.equals(config.masterKey)) return this.vault;
    return new DkimVault({ ...config, masterKey, previousMasterKey: config.masterKey });
  }

  /** Counts all keys, and names those that the vault does not open as `<domain id>/<selector>`. Changes nothing. */
  async examine(vault: DkimVault): Promise<{ keys: number; closed: string[] }> {
    let keys = 0;
    const closed: string[] = [];
    for await (const page of this.keys.pages()) {
      keys += page.length;
      closed.push(...page.filter((row) => !opens(vault, row)).map((row) => `${row.domainId}/${row.selector}`));
    }
    return { keys, closed };
  }

  /**
   * Seals every key again that is not sealed under the vault's master key; answers how many. It can be repeated after
   * whatever interrupted it. Those who still seal under the old key meanwhile are caught up with.
   * @throws DecryptionError for a key that does not open
   */
  async reseal(vault: DkimVault): Promise<number> {
    let total = 0;
    let resealed: number;
    do {
      resealed = await this.resealOnce(vault);
      total += resealed;
    } while (resealed > 0);
    return total;
  }

  private async resealOnce(vault: DkimVault): Promise<number> {
    let resealed = 0;
    for await (const page of this.keys.pages()) {
      const outdated = page.filter(({ sealed }) => !vault.isCurrent(sealed));
      resealed += await this.keys.replace(
        outdated.map((row) => ({ ...row, resealed: vault.seal(vault.open(row.sealed, row), row) })),
      );
    }
    return resealed;
  }
}

function opens(vault: DkimVault, row: SealedKeyRow): boolean {
  try {
    vault.open(row.sealed, row);
    return true;
  } catch {
    return false;
  }
}
