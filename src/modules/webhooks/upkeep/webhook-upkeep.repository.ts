import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { LessThan, type Repository } from 'typeorm';
import { Database } from '../../../database/database.service';
import { WebhookEndpoint } from '../webhook-endpoint.entity';
import { clearRemoved } from './sql/clear-removed.sql';
import { deleteOldMessages } from './sql/delete-old-messages.sql';

@Injectable()
export class WebhookUpkeepRepository {
  constructor(
    @InjectRepository(WebhookEndpoint) private readonly endpoints: Repository<WebhookEndpoint>,
    private readonly database: Database,
  ) {}

  /** Answers how many were deleted. */
  async deleteMessagesBefore(before: Date, limit: number): Promise<number> {
    return (await this.database.run(deleteOldMessages(before, limit))).length;
  }

  /** Deletes messages of one endpoint that is gone; false when there is none left, or others are at work on all. */
  async clearRemoved(limit: number): Promise<boolean> {
    return (await this.database.run(clearRemoved(limit))).length > 0;
  }

  async forgetPreviousSecrets(now: Date): Promise<void> {
    const nothing = { previousSecret: null, previousSecretUntil: null };
    await this.endpoints.update({ previousSecretUntil: LessThan(now) }, nothing);
  }
}
