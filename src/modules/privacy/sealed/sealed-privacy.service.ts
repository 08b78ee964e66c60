import { Injectable } from '@nestjs/common';
import { AppConfig } from '../../../config/config';
import { PrivacyVault } from '../privacy-vault.service';
import { SealedPrivacyRepository } from './sealed-privacy.repository';
import type { SealedPartRow } from './sql/list-sealed-parts.sql';
import type { SealedSubjectRow } from './sql/list-sealed-subjects.sql';

/** Subjects and results of all organizations' privacy requests, as they are stored: for whoever looks after the master key. */
@Injectable()
export class SealedPrivacyService {
  constructor(
    private readonly stored: SealedPrivacyRepository,
    private readonly config: AppConfig,
  ) {}

  /** The vault of the time after a change to this master key: what is sealed under the present one still opens. */
  vaultUnder(masterKey: Buffer): PrivacyVault {
    const { config } = this;
    const previousMasterKey = masterKey.equals(config.masterKey) ? config.previousMasterKey : config.masterKey;
    return new PrivacyVault({ ...config, masterKey, previousMasterKey });
  }

  /** Counts subjects and parts, and names the requests of those that do not open. Changes nothing. */
  async examine(vault: PrivacyVault): Promise<{ sealed: number; closed: string[] }> {
    let sealed = 0;
    const closed: string[] = [];
    const note = (id: string, open: () => unknown): void => {
      sealed += 1;
      if (!succeeds(open)) closed.push(id);
    };
    for await (const row of this.stored.subjects()) note(row.id, () => vault.openSubject(row.subject, row));
    for await (const row of this.stored.parts()) note(row.id, () => vault.openPart(row.content, row));
    return { sealed, closed };
  }

  /**
   * Seals again what is not sealed under the present master key of `vault`; answers how many. It can be repeated; those
   * who still seal under the old key meanwhile are caught up with.
   * @throws DecryptionError for what does not open
   */
  async reseal(vault: PrivacyVault): Promise<number> {
    let total = 0;
    for (;;) {
      const resealed = (await this.resealSubjects(vault)) + (await this.resealParts(vault));
      if (resealed === 0) return total;
      total += resealed;
    }
  }

  private async resealSubjects(vault: PrivacyVault): Promise<number> {
    let resealed = 0;
    for await (const row of this.stored.subjects()) {
      if (vault.isCurrent(row.subject)) continue;
      if (await this.resealSubject(row, vault)) resealed += 1;
    }
    return resealed;
  }

  /** Its hash is of the master key as well. */
  private resealSubject(row: SealedSubjectRow, vault: PrivacyVault): Promise<boolean> {
    const subject = vault.openSubject(row.subject, row);
    return this.stored.replaceSubject(row, vault.sealSubject(subject, row), vault.hashOf(subject.email));
  }

  private async resealParts(vault: PrivacyVault): Promise<number> {
    let resealed = 0;
    for await (const row of this.stored.parts()) {
      if (vault.isCurrent(row.content)) continue;
      if (await this.resealPart(row, vault)) resealed += 1;
    }
    return resealed;
  }

  private resealPart(row: SealedPartRow, vault: PrivacyVault): Promise<boolean> {
    return this.stored.replacePart(row, vault.sealPart(vault.openPart(row.content, row), row));
  }
}

function succeeds(attempt: () => unknown): boolean {
  try {
    attempt();
    return true;
  } catch {
    return false;
  }
}
