import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { masterKeyId } from '../common/encryption/encryption';
import { AppConfig } from '../config/config';
import { MasterKeyInUse } from './installation.entity';
import { Database } from './database.service';
import { recordMasterKeyId } from './sql/master-key.sql';

/**
 * Which master key the processes of this database use, by its id. Without it a wrong key shows only by what it cannot decrypt: not
 * at all before the first domain, and not where it only signs.
 */
@Injectable()
export class MasterKeyRecord {
  constructor(
    private readonly database: Database,
    private readonly config: AppConfig,
    @InjectRepository(MasterKeyInUse) private readonly rows: Repository<MasterKeyInUse>,
  ) {}

  /** Whether this process has the recorded key, as its own or as the previous one; true while none is recorded. */
  async isKnown(): Promise<boolean> {
    const recorded = await this.read();
    return recorded === undefined || this.ids.includes(recorded) || !this.isNeeded;
  }

  /** Whether the recorded key is the process's own, and not only its previous one; true while none is recorded. */
  async isCurrent(): Promise<boolean> {
    const recorded = await this.read();
    return recorded === undefined || this.ids[0] === recorded;
  }

  /** At the start of a process: its own key is in use from now on, if it has the one that was until now. @returns whether it has */
  async adopt(): Promise<boolean> {
    const [own = 0] = this.ids;
    // A start on a database that is read-only for now writes nothing.
    if ((await this.read()) === own) return true;
    return (await this.database.run(recordMasterKeyId(own, this.ids))).length === 1;
  }

  /** Everything is encrypted under this key, whichever was in use. */
  async replace(masterKey: Buffer): Promise<void> {
    await this.database.run(recordMasterKeyId(masterKeyId(masterKey)));
  }

  private async read(): Promise<number | undefined> {
    const [row] = await this.rows.find();
    return row && Number(row.keyId);
  }

  /** The responder of DKIM keys decrypts nothing. */
  private get isNeeded(): boolean {
    return [...this.config.roles].some((role) => role !== 'dns');
  }

  /** The one that encrypts first. */
  private get ids(): number[] {
    const { masterKey, previousMasterKey } = this.config;
    return [masterKey, ...(previousMasterKey ? [previousMasterKey] : [])].map(masterKeyId);
  }
}
