import { Injectable } from '@nestjs/common';
import { AppError, NotFoundError } from '../../../common/errors/app-error';
import { Database } from '../../../database/database.service';
import type { Transaction } from '../../../database/transaction';
import { AuditService } from '../../../audit/audit.service';
import type { DkimKey } from './dkim-key.entity';
import type { DkimKeyPair } from './dkim-key-pair';
import { DkimKeyMaker } from './dkim-key-maker';
import { DkimKeysService } from './dkim-keys.service';
import { domainEvent } from '../domain-event';
import { DomainsRepository } from '../domains.repository';

/**
 * Gives a domain a new DKIM key, which signs as soon as its record has been seen in DNS. Until then the older one does,
 * however long that takes: a rotation never leaves mail unsigned.
 */
@Injectable()
export class DkimRotationService {
  constructor(
    private readonly domains: DomainsRepository,
    private readonly keys: DkimKeysService,
    private readonly maker: DkimKeyMaker,
    private readonly audit: AuditService,
    private readonly database: Database,
  ) {}

  /** @throws NotFoundError, AppError dkim_rotation_in_progress */
  async rotate(organizationId: string, domainId: string, actor: string): Promise<void> {
    // Before the costly part; what counts is the same question under the lock.
    refuseWhileRotating(await this.keys.published(organizationId, domainId));
    const pair = await this.maker.generate();
    await this.database.transaction(async (tx) => {
      const key = await this.addSuccessor(organizationId, domainId, pair, tx);
      const domain = { organizationId, id: domainId };
      await this.audit.record([domainEvent('dkim.rotated', domain, actor, { selector: key.selector })], tx);
    });
  }

  private async addSuccessor(
    organizationId: string,
    domainId: string,
    pair: DkimKeyPair,
    tx: Transaction,
  ): Promise<DkimKey> {
    if (!(await this.domains.lock(organizationId, domainId, tx))) throw new NotFoundError('Domain');
    const published = await this.keys.published(organizationId, domainId, tx);
    refuseWhileRotating(published);
    const key = this.maker.successor(pair, { organizationId, domainId }, published);
    if (!key) throw inProgress('The other selector is still taken');
    await this.keys.addPending(key, tx);
    await this.domains.noteRotation(key, tx);
    return key;
  }
}

function refuseWhileRotating(published: readonly DkimKey[]): void {
  const unfinished = published.find(({ state }) => state !== 'active');
  if (!unfinished) return;
  const { selector, expiresAt } = unfinished;
  if (!expiresAt) throw inProgress(`The record of the key ${selector} has not been seen in DNS yet`);
  throw inProgress(`The previous key ${selector} stays valid until ${expiresAt.toISOString()}`);
}

function inProgress(message: string): AppError {
  return new AppError('dkim_rotation_in_progress', message);
}
