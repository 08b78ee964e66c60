import { Injectable, type OnModuleInit } from '@nestjs/common';
import { NIL_ID } from '../../../common/ids';
import type { Backfill, BackfillBatch } from '../../../database/installation/backfill';
import { BackfillsJob } from '../../../database/installation/backfills.job';
import type { Transaction } from '../../../database/statements/transaction';
import { InboundEmailsRepository } from './inbound-emails.repository';
import { indexedAddresses } from './read-envelope';

/** Of up to 1 MiB each, one at a time. */
const BATCH = 20;
const FIRST = { organizationId: NIL_ID, mode: 'live', id: NIL_ID } as const;

/**
 * Reads the addresses in stored mail again: earlier releases read a long header in part, and an erasure finds mail by these
 * addresses. In the order of the primary key; mail that arrives meanwhile is read as a whole.
 */
@Injectable()
export class InboundAddressesBackfill implements Backfill, OnModuleInit {
  readonly name = 'inbound-addresses';

  constructor(
    private readonly backfills: BackfillsJob,
    private readonly emails: InboundEmailsRepository,
  ) {}

  onModuleInit(): void {
    this.backfills.register(this);
  }

  estimate(): Promise<number> {
    return this.emails.countAll();
  }

  async next(position: string, tx: Transaction): Promise<BackfillBatch> {
    const after = position === '' ? FIRST : (JSON.parse(position) as typeof FIRST);
    const examined = await this.emails.examine(after, BATCH, tx);
    let changed = 0;
    for (const { envelope, ...email } of examined.filter(({ mayNameMore }) => mayNameMore)) {
      const head = await this.emails.readHead(email, tx);
      if (!head) continue;
      if (await this.emails.writeAddresses(email, await indexedAddresses(head, envelope), tx)) changed += 1;
    }
    const last = examined.length === BATCH ? examined.at(-1) : undefined;
    const next = last && JSON.stringify({ organizationId: last.organizationId, mode: last.mode, id: last.id });
    return { position: next, examined: examined.length, changed };
  }
}
