import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { In, type Repository } from 'typeorm';
import type { Tenant } from '../../../common/tenant';
import { Database } from '../../../database/pool/database.service';
import type { Transaction } from '../../../database/statements/transaction';
import { InboundEmail } from './inbound-email.entity';
import type { IdRange, InboundCapacity, InboundEmailKey, NewInboundEmail, Stored } from './inbound-email';
import { deleteInboundEmail, deleteInboundEmails, deleteOldInboundEmails } from './sql/delete-inbound-emails.sql';
import {
  countInboundEmails,
  type ExaminedInboundEmail,
  listCrowdedInboundEmails,
  listExaminedInboundEmails,
  listInboundEmailsOf,
  writeInboundAddresses,
} from './sql/inbound-addresses.sql';
import {
  countInboundEmail,
  insertInboundEmail,
  insertInboundPart,
  readInboundPart,
  readInboundSizes,
} from './sql/inbound-emails.sql';
import { type InboundSearch, listInboundEmails, type Page, searchInboundEmails } from './sql/list-inbound-emails.sql';

type ExaminedKey = Pick<ExaminedInboundEmail, 'organizationId' | 'mode' | 'id'>;

/** Of a part: the driver makes text of twice its length of it. */
const PART_BYTES = 1024 * 1024;

/** Emails older than an id: so many are examined. */
export interface SearchSpan {
  readonly before: string;
  readonly window: number;
}

export interface FoundInboundEmails {
  readonly ids: readonly string[];
  /** Matches among those examined. */
  readonly total: number;
  /** Set when there may be more than were examined: the id where the search stopped. */
  readonly stoppedAt: string | undefined;
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

  /** A page of all of an organization's mail; `total` is exact. @param before an id */
  async list(tenant: Tenant, before: string, page: Page): Promise<{ ids: readonly string[]; total: number }> {
    const [found] = await this.database.run(listInboundEmails(tenant, before, page));
    return found ?? { ids: [], total: 0 };
  }

  /** Searches the newest of a span, at most so many. */
  async search(tenant: Tenant, span: SearchSpan, terms: InboundSearch, page: Page): Promise<FoundInboundEmails> {
    const [found] = await this.database.run(searchInboundEmails(tenant, span, terms, page));
    if (!found) return { ids: [], total: 0, stoppedAt: undefined };
    const { ids, total, examined, oldest } = found;
    return { ids, total, stoppedAt: examined === span.window && oldest !== null ? oldest : undefined };
  }

  /** Newest first; deleted ones are left out. */
  findAll({ organizationId, mode }: Tenant, ids: readonly string[]): Promise<InboundEmail[]> {
    if (ids.length === 0) return Promise.resolve([]);
    return this.emails.find({ where: { organizationId, mode, id: In(ids) }, order: { id: 'DESC' } });
  }

  find({ organizationId, mode, domainId }: Tenant, id: string): Promise<InboundEmail | null> {
    return this.emails.findOneBy({ organizationId, mode, id, ...(domainId !== undefined && { domainId }) });
  }

  /** The message as it came, in one snapshot; undefined when it was deleted. */
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

  /** The first MiB as it came, with all of the header; undefined when it was deleted. */
  async loadHead(key: InboundEmailKey): Promise<Buffer | undefined> {
    return (await this.database.run(readInboundPart(key, 0)))[0]?.content;
  }

  /** The same as `loadHead`, in a transaction. */
  async readHead(key: InboundEmailKey, tx: Transaction): Promise<Buffer | undefined> {
    return (await tx.run(readInboundPart(key, 0)))[0]?.content;
  }

  /** The next of all organizations. */
  examine(after: ExaminedKey, limit: number, tx: Transaction): Promise<ExaminedInboundEmail[]> {
    return tx.run(listExaminedInboundEmails(after, limit));
  }

  /** Whether they were others. */
  async writeAddresses(key: InboundEmailKey, addresses: readonly string[], tx: Transaction): Promise<boolean> {
    return (await tx.run(writeInboundAddresses(key, addresses))).length > 0;
  }

  /** Of all organizations. */
  async countAll(): Promise<number> {
    return (await this.database.run(countInboundEmails()))[0]?.emails ?? 0;
  }

  /** Those that are found by an address, in the order of their ids. */
  async idsOf(tenant: Tenant, addresses: readonly string[], range: IdRange): Promise<string[]> {
    return (await this.database.run(listInboundEmailsOf(tenant, addresses, range))).map(({ id }) => id);
  }

  /** Those that name as many as are indexed, or more, in the order of their ids. */
  async crowdedIds(tenant: Tenant, range: IdRange): Promise<string[]> {
    return (await this.database.run(listCrowdedInboundEmails(tenant, range))).map(({ id }) => id);
  }

  /** Whether there was one. */
  async delete({ organizationId, mode, domainId }: Tenant, id: string, tx: Transaction): Promise<boolean> {
    return (await tx.run(deleteInboundEmail({ organizationId, mode, id }, domainId))).length > 0;
  }

  /** Returns how many there were. */
  async deleteAll(tenant: Tenant, ids: readonly string[], tx: Transaction): Promise<number> {
    return ids.length === 0 ? 0 : (await tx.run(deleteInboundEmails(tenant, ids))).length;
  }

  /** Returns how many. */
  async deleteBefore(before: Date, limit: number): Promise<number> {
    return (await this.database.run(deleteOldInboundEmails(before, limit))).length;
  }
}

export type { InboundSearch, Page };
