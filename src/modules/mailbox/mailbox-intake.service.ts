import { Injectable, Logger } from '@nestjs/common';
import { OrganizationsService } from '../../auth/organizations.service';
import { Clock } from '../../common/clock';
import { deriveKey } from '../../common/encryption/encryption';
import { newId } from '../../common/ids';
import { MicroBatcher } from '../../common/async/micro-batcher';
import { AppConfig } from '../../config/config';
import { ReturnPath } from '../../delivery/tokens/return-path';
import { MailboxRepository } from './mailbox.repository';
import { summarize } from './message-reader';
import type { NewMailboxMessage, ReceivedMessage } from './mailbox-message.entity';

const MIB = 1024 * 1024;
/** Weight of a row in addition to its bytes: a batch holds at most 256 messages. */
const ROW_WEIGHT = 16 * 1024;

/** The mailbox is trimmed to KEEP once SLACK has been added; together that is 1,100 messages and 200 MB. */
const KEEP = { messages: 1_000, bytes: 180 * MIB };
const SLACK = { messages: 100, bytes: 10 * MIB };

/**
 * Adds received messages to the mailbox and removes old ones. Concurrent messages share one insert (about 4,000
 * messages of 3.5 kB a second over 20 connections, on two cores with client and database; an insert each: 2,500).
 */
@Injectable()
export class MailboxIntakeService {
  private readonly logger = new Logger(MailboxIntakeService.name);
  private readonly batcher = new MicroBatcher<ReceivedMessage, string>((messages) => this.keep(messages), {
    maxWeight: 4 * MIB,
    weightOf: ({ raw }) => raw.length + ROW_WEIGHT,
    concurrency: 2,
  });
  /** Added since the last trim; unknown after a start, so the first batch trims. */
  private since = { messages: SLACK.messages, bytes: 0 };

  private readonly returnPath: ReturnPath;

  constructor(
    private readonly mailbox: MailboxRepository,
    private readonly organizations: OrganizationsService,
    private readonly clock: Clock,
    { masterKey }: AppConfig,
  ) {
    this.returnPath = new ReturnPath(deriveKey(masterKey, 'return-path'), clock);
  }

  /**
   * Returns the message's id once it is committed.
   * @throws UnavailableError
   */
  store(message: ReceivedMessage): Promise<string> {
    return this.batcher.add(message);
  }

  private async keep(messages: readonly ReceivedMessage[]): Promise<string[]> {
    const rows = await Promise.all(messages.map((message) => this.rowOf(message)));
    await this.mailbox.insert(rows);
    await this.trimWhenDue(rows);
    return rows.map(({ id }) => id);
  }

  private async rowOf(message: ReceivedMessage): Promise<NewMailboxMessage> {
    const organizationId = await this.ownerOf(message);
    return { ...message, ...summarize(message.raw), id: newId(), receivedAt: this.clock.now(), organizationId };
  }

  /** The organization of a message; only a genuine return path leads to a query, once for each organization. */
  private async ownerOf({ returnPath }: ReceivedMessage): Promise<string | null> {
    const target = this.returnPath.open(returnPath.slice(0, Math.max(0, returnPath.lastIndexOf('@'))));
    return (target && (await this.organizations.findByOrdinal(target.organizationOrdinal))) ?? null;
  }

  private async trimWhenDue(added: readonly NewMailboxMessage[]): Promise<void> {
    this.since.messages += added.length;
    this.since.bytes += added.reduce((sum, { raw }) => sum + raw.length, 0);
    if (this.since.messages < SLACK.messages && this.since.bytes < SLACK.bytes) return;
    this.since = { messages: 0, bytes: 0 };
    try {
      await this.mailbox.trim(KEEP.messages, KEEP.bytes);
    } catch (error) {
      // The messages are committed; a later batch trims for this one too.
      this.logger.warn(`The mailbox could not be trimmed: ${(error as Error).message}`);
    }
  }
}
