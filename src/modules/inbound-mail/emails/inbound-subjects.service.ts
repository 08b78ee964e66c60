import { Injectable } from '@nestjs/common';
import { addressKeys } from '../../../common/address-forms';
import type { Tenant } from '../../../common/tenant';
import type { Transaction } from '../../../database/statements/transaction';
import type { InboundEmail } from './inbound-email.entity';
import type { IdRange } from './inbound-email';
import { InboundEmailsRepository } from './inbound-emails.repository';
import { namedAddresses } from './named-addresses';

/** Mail whose headers are searched for one page, of up to 1 MiB each: those with more addresses than are indexed. */
const LOOKED_AT = 20;

/** Mail that names a person. */
export interface NamingMail {
  /** In their order. */
  readonly ids: readonly string[];
  /** Start of the next page; undefined at the end. */
  readonly next: string | undefined;
}

/**
 * Finds inbound mail that names a person, for exports and erasures: by its indexed addresses, or, of mail with more of them, by
 * its header. Thousands of addresses in one mail would make the index larger than the mail.
 */
@Injectable()
export class InboundSubjectsService {
  constructor(private readonly emails: InboundEmailsRepository) {}

  /** A page of bounded work: it may be empty, and have a next one. @throws UnavailableError */
  async find({ organizationId, mode }: Tenant, email: string, range: IdRange): Promise<NamingMail> {
    const [tenant, addresses] = [{ organizationId, mode }, addressKeys(email)];
    const indexed = await this.emails.idsOf(tenant, addresses, range);
    const lastIndexed = indexed.length === range.limit ? indexed.at(-1) : undefined;
    const crowded = await this.emails.crowdedIds(tenant, {
      after: range.after,
      before: lastIndexed ?? range.before,
      limit: LOOKED_AT,
    });
    const next = crowded.length === LOOKED_AT ? crowded.at(-1) : lastIndexed;
    const ids = indexed.filter((id) => next === undefined || id <= next);
    for (const id of crowded) {
      if (ids.includes(id)) continue;
      if (await this.names(await this.emails.loadHead({ ...tenant, id }), addresses)) ids.push(id);
    }
    return { ids: ids.toSorted(), next };
  }

  /** In the order of their ids; deleted ones are left out. @throws UnavailableError */
  async read(tenant: Tenant, ids: readonly string[]): Promise<InboundEmail[]> {
    return (await this.emails.findAll(tenant, ids)).reverse();
  }

  /** Deletes them with their bytes, of any sender. Returns how many there were. */
  erase({ organizationId, mode }: Tenant, ids: readonly string[], tx: Transaction): Promise<number> {
    return this.emails.deleteAll({ organizationId, mode }, ids, tx);
  }

  private async names(head: Buffer | undefined, addresses: readonly string[]): Promise<boolean> {
    if (!head) return false;
    for await (const named of namedAddresses(head)) if (addresses.includes(named)) return true;
    return false;
  }
}
