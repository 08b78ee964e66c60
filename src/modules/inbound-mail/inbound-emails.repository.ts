import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { ArrayContains, type FindOptionsWhere, In, type Repository } from 'typeorm';
import type { Tenant } from '../../common/tenant';
import { Database } from '../../database/database.service';
import type { Transaction } from '../../database/transaction';
import { InboundEmail } from './inbound-email.entity';
import type { IdRange, InboundCapacity, InboundEmailKey, NewInboundEmail, Stored } from './inbound-email';
import {
  countInboundEmail,
  deleteInboundEmail,
  deleteInboundEmailsOf,
  deleteOldInboundEmails,
  insertInboundEmail,
  insertInboundPart,
  listInboundEmailsOf,
  readInboundPart,
  readInboundSizes,
} from './sql/inbound-emails.sql';

/** Of a part: the driver makes text of twice its length of it. */
const PART_BYTES = 1024 * 1024;

export interface InboundEmailFilter {
  /** Addresses in lower case. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/** Mail that came to routes. All of it throws UnavailableError. */
@Injectable()
export class InboundEmailsRepository {
  constructor(
    @InjectRepository(InboundEmail) private readonly emails: Repository<InboundEmail>,
    private readonly database: Database,
  ) {}

  /** Commits one copy with its bytes. */
  store(email: NewInboundEmail, message: Buffer, capacity: InboundCapacity): Promise<Stored> {
    return this.database.transaction(async (tx) => {
      const [row] = await tx.run(insertInboundEmail(email, capacity));
      if (!row?.id) return row?.else ?? 'known';
      const key: InboundEmailKey = { organizationId: email.organizationId, mode: 'live', id: row.id };
      for (let at = 0, position = 0; at < message.length; at += PART_BYTES, position += 1) {
        await tx.run(insertInboundPart(key, position, message.subarray(at, at + PART_BYTES)));
      }
      await tx.run(countInboundEmail(email.organizationId, message.length));
      return 'new';
    });
  }

  /** Newest first; also how many there are in all. */
  page(
    { organizationId, mode, domainId }: Tenant,
    { from, to }: InboundEmailFilter,
    { offset, limit }: { offset: number; limit: number },
  ): Promise<[InboundEmail[], number]> {
    const own = { organizationId, mode, ...(domainId !== undefined && { domainId }) };
    const shared = { ...own, ...(to !== undefined && { envelopeTo: ArrayContains([to]) }) };
    const where: FindOptionsWhere<InboundEmail>[] =
      from === undefined
        ? [shared]
        : [
            { ...shared, fromAddress: from },
            { ...shared, envelopeFrom: from },
          ];
    return this.emails.findAndCount({ where, order: { id: 'DESC' }, skip: offset, take: limit });
  }

  find({ organizationId, mode, domainId }: Tenant, id: string): Promise<InboundEmail | null> {
    return this.emails.findOneBy({ organizationId, mode, id, ...(domainId !== undefined && { domainId }) });
  }

  /** The message as it came; undefined when it is gone. As of one moment. */
  load(key: InboundEmailKey): Promise<Buffer | undefined> {
    return this.database.snapshot(async (tx) => {
      const parts = await tx.run(readInboundSizes(key));
      if (parts.length === 0) return undefined;
      const bytes = Buffer.allocUnsafeSlow(parts.reduce((sum, { size }) => sum + size, 0));
      let at = 0;
      for (const { position } of parts) {
        const [part] = await tx.run(readInboundPart(key, position));
        at += part?.content.copy(bytes, at) ?? 0;
      }
      return bytes.subarray(0, at);
    });
  }

  /** Those that show an address, in the order of their ids, for an export. */
  async pageOf({ organizationId, mode }: Tenant, address: string, range: IdRange): Promise<InboundEmail[]> {
    const found = await this.database.run(listInboundEmailsOf({ organizationId, mode }, address, range));
    const where = { organizationId, mode, id: In(found.map(({ id }) => id)) };
    return this.emails.find({ where, order: { id: 'ASC' } });
  }

  /** Whether there was one. */
  async delete({ organizationId, mode, domainId }: Tenant, id: string, tx: Transaction): Promise<boolean> {
    return (await tx.run(deleteInboundEmail({ organizationId, mode, id }, domainId))).length > 0;
  }

  /** Returns how many. */
  async deleteOf(tenant: Tenant, address: string, limit: number, tx: Transaction): Promise<number> {
    return (await tx.run(deleteInboundEmailsOf(tenant, address, limit))).length;
  }

  /** Returns how many. */
  async deleteBefore(before: Date, limit: number): Promise<number> {
    return (await this.database.run(deleteOldInboundEmails(before, limit))).length;
  }
}
