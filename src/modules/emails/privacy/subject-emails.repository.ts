import { Injectable } from '@nestjs/common';
import { ReadDatabase } from '../../../database/read-database.service';
import { addressKey } from '../../../common/mail-address';
import type { Tenant } from '../../../common/tenant';
import { findSenders, measureErasable, type SenderPage } from './sql/find-erasable.sql';
import {
  listSubjectEmails,
  type PageLimits,
  readSubjectEmails,
  readSubjectEvents,
  type SubjectEmailHead,
  type SubjectEvent,
  type SubjectRange,
  type SubjectScope,
} from './sql/subject-emails.sql';

/** Emails of a page that are looked at for their sender. */
const EXAMINED = 2_000;

/** What emails hold of a data subject, to be read for an export; from the replica where there is one. */
@Injectable()
export class SubjectEmailsRepository {
  constructor(private readonly reads: ReadDatabase) {}

  /** A page of the ids of the emails to a subject, in order. */
  async list(scope: SubjectScope, range: SubjectRange, limits: PageLimits): Promise<string[]> {
    return (await this.reads.run(listSubjectEmails(scope, range, limits))).map(({ id }) => id);
  }

  /**
   * The next emails from a subject, or that ask for replies to it, as many as fit into the limits, at least one if there is one;
   * and the last email that was looked at, null after all.
   */
  async listSent(
    { organizationId, mode, address }: SubjectScope,
    { after, before }: SubjectRange,
    limits: PageLimits,
  ): Promise<SenderPage> {
    const subject = { organizationId, mode, keys: [addressKey(address)] };
    const page = { after, lastId: before };
    const [found] = await this.reads.run(findSenders(subject, page, { examined: EXAMINED, found: limits.emails }));
    if (!found || found.ids.length === 0) return { ids: [], lastId: found?.lastId ?? null };
    const measured = await this.reads.run(measureErasable(subject, found.ids));
    let bytes = 0;
    const fitting = measured.filter((email, index) => (bytes += email.bytes) <= limits.bytes || index === 0);
    const ids = fitting.map(({ emailId }) => emailId);
    return { ids, lastId: ids.length < measured.length ? (ids.at(-1) ?? null) : found.lastId };
  }

  findEmails(tenant: Tenant, emailIds: readonly string[]): Promise<SubjectEmailHead[]> {
    return this.reads.run(readSubjectEmails(tenant, emailIds));
  }

  /** Of each email in the order in which they were recorded. */
  findEvents(tenant: Tenant, emailIds: readonly string[]): Promise<SubjectEvent[]> {
    return this.reads.run(readSubjectEvents(tenant, emailIds));
  }
}

export type { SubjectEmailHead, SubjectEvent, SubjectRange, SubjectScope };
