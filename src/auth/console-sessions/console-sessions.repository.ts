import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { In, LessThan, MoreThan, type Repository } from 'typeorm';
import { acrossTenants } from '../../common/tenant';
import type { Transaction } from '../../database/statements/transaction';
import { ConsoleLink, ConsoleSession } from './console-session.entity';
import { endOldestSessions } from './sql/console-sessions.sql';

/** Browser sessions and single-use links, both stored as hashes of their tokens. */
@Injectable()
export class ConsoleSessionsRepository {
  constructor(@InjectRepository(ConsoleSession) private readonly sessions: Repository<ConsoleSession>) {}

  /** @param keep how many sessions its key may have, the new one included; the oldest ones beyond that end */
  async start(session: ConsoleSession, keep: number, tx: Transaction): Promise<void> {
    await tx.manager.insert(ConsoleSession, { ...session });
    await tx.run(endOldestSessions(session.organizationId, session.keyId, keep));
  }

  find(hash: Buffer): Promise<ConsoleSession | null> {
    return acrossTenants(() => this.sessions.findOneBy({ hash }));
  }

  /** @returns the number of ended sessions: 0 when another request has ended it already */
  async end(hash: Buffer, tx: Transaction): Promise<number> {
    return (await tx.manager.delete(ConsoleSession, { hash })).affected ?? 0;
  }

  /** @returns the number of ended sessions */
  async endAllOf(organizationId: string, keyIds: readonly string[], tx: Transaction): Promise<number> {
    return (await tx.manager.delete(ConsoleSession, { organizationId, keyId: In(keyIds) })).affected ?? 0;
  }

  async addLink(link: ConsoleLink, tx: Transaction): Promise<void> {
    await tx.manager.insert(ConsoleLink, { ...link });
  }

  /** Deletes and returns a link, so that of two concurrent requests only one gets it. */
  async takeLink(hash: Buffer, now: Date, tx: Transaction): Promise<ConsoleLink | undefined> {
    const link = await tx.manager.findOne(ConsoleLink, {
      where: { hash, expiresAt: MoreThan(now) },
      lock: { mode: 'pessimistic_write' },
    });
    if (!link) return undefined;
    await tx.manager.delete(ConsoleLink, { hash });
    return link;
  }

  /** Deletes sessions and links that have expired. */
  async deleteExpired(now: Date, tx: Transaction): Promise<void> {
    await tx.manager.delete(ConsoleSession, { expiresAt: LessThan(now) });
    await tx.manager.delete(ConsoleLink, { expiresAt: LessThan(now) });
  }
}
