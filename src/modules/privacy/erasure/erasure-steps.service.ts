import { Injectable } from '@nestjs/common';
import type { Transaction } from '../../../database/statements/transaction';
import {
  type ErasedCounts,
  type ErasedSubject,
  SubjectErasureService,
} from '../../emails/privacy/subject-erasure.service';
import { InboundSubjectsService } from '../../inbound-mail/emails/inbound-subjects.service';
import { InboundReportsService } from '../../inbound-reports/queue/inbound-reports.service';
import { MailboxErasureService } from '../../local-mailbox/mailbox.service';
import { SuppressionErasure } from '../../suppressions/address-hashing.service';
import type { RequestKey } from '../requests/privacy-request.entity';
import { PrivacyRequestsService } from '../requests/privacy-requests.service';
import type { ErasureProgress, KeyPlace, PageResult } from './erasure-progress';
import { LAST_ID, NIL_ID } from '../../../common/ids';

/** Inbound emails in one transaction, of up to 25 parts each. */
const INBOUND = 50;

/** The request and the data subject of an erasure. */
export interface ErasureTarget {
  readonly request: RequestKey;
  /** Normal form. */
  readonly email: string;
  readonly subject: ErasedSubject;
}

/** Erases one page within the transaction that counts it. */
export type ErasePage = (tx: Transaction) => Promise<PageResult>;

/** Runs one page of one step of an erasure, through the services that own the data. */
@Injectable()
export class ErasureSteps {
  constructor(
    private readonly emails: SubjectErasureService,
    private readonly reports: InboundReportsService,
    private readonly suppressions: SuppressionErasure,
    private readonly inbound: InboundSubjectsService,
    private readonly mailbox: MailboxErasureService,
    private readonly requests: PrivacyRequestsService,
  ) {}

  targetOf({ organizationId, mode, id }: RequestKey, email: string): ErasureTarget {
    const subject = this.emails.subjectOf({ organizationId, mode }, email);
    return { request: { organizationId, mode, id }, email, subject };
  }

  /**
   * Finds what the next page has to erase, and returns a function that erases it. Searching files takes longer than a transaction
   * may last, so it comes before.
   */
  async prepare(target: ErasureTarget, progress: ErasureProgress): Promise<ErasePage> {
    switch (progress.step) {
      case 'received':
      case 'late':
        return this.prepareReceived(target, progress);
      case 'sent':
      case 'late-sent':
        return this.prepareSent(target, progress);
      case 'responses':
        return (tx) => this.eraseResponses(target, progress, tx);
      case 'suppressions':
        return (tx) => this.eraseSuppressions(target, tx);
      case 'inbound':
        return this.prepareInbound(target, progress);
      case 'mailbox':
        return this.prepareCopies(target, progress);
      case 'requests':
        return (tx) => this.closeRequests(target, tx);
      case 'done':
        return () => Promise.resolve({});
    }
  }

  private async prepareReceived({ subject }: ErasureTarget, progress: ErasureProgress): Promise<ErasePage> {
    const page = await this.emails.prepareReceived(subject, pageOf(progress), progress.attachment);
    const { next, attachment } = page;
    return async (tx) => {
      // Reports before deliveries before emails: the order in which all transactions lock them (docs/a-mails-life.md).
      const reportsDeleted = await this.reports.erase(this.emails.deliveriesOf(subject, page), tx);
      const erased = await this.emails.eraseReceived(subject, page, tx);
      const counts = {
        ...countsOf(erased),
        recipientsAnonymized: erased.deliveries.length,
        deliveriesCancelled: erased.cancelled,
        reportsDeleted,
      };
      return { counts, busy: erased.busy, next, attachment, eventIds: erased.eventIds };
    };
  }

  private async prepareSent({ subject }: ErasureTarget, progress: ErasureProgress): Promise<ErasePage> {
    const page = await this.emails.prepareSent(subject, pageOf(progress), progress.attachment);
    const { next, attachment } = page;
    return async (tx) => {
      const erased = await this.emails.eraseSent(subject, page, tx);
      return { counts: countsOf(erased), next, attachment, eventIds: erased.eventIds };
    };
  }

  private async eraseResponses({ subject }: ErasureTarget, { after }: ErasureProgress, tx: Transaction) {
    return { next: await this.emails.eraseResponses(subject, after as KeyPlace | undefined, tx) };
  }

  private async eraseSuppressions({ request, email }: ErasureTarget, tx: Transaction) {
    const { removed, hashed, kept } = await this.suppressions.erase(request, email, tx);
    return { counts: { suppressionsRemoved: removed, suppressionsHashed: hashed }, kept };
  }

  /**
   * Inbound mail that the subject has sent, or that names them. It is deleted as a whole, since other personal data in it cannot
   * be recognised.
   */
  private async prepareInbound({ request, email }: ErasureTarget, progress: ErasureProgress): Promise<ErasePage> {
    const { after } = pageOf(progress);
    const { ids, next } = await this.inbound.find(request, email, { after, before: LAST_ID, limit: INBOUND });
    // An inbound email is its own event.
    return async (tx) => {
      return { counts: { inboundEmailsDeleted: await this.inbound.erase(request, ids, tx) }, next, eventIds: ids };
    };
  }

  /** Copies in the local mailbox. Test mail never leaves the service, so there are none of it. */
  private async prepareCopies({ subject }: ErasureTarget, progress: ErasureProgress): Promise<ErasePage> {
    if (subject.mode === 'test') return () => Promise.resolve({});
    const { lastId, lastCopyId = lastId } = progress;
    const { ids, next } = await this.mailbox.find(subject, { ...pageOf(progress), lastId: lastCopyId });
    return async (tx) => ({ counts: { mailboxCopiesDeleted: await this.mailbox.delete(ids, tx) }, next });
  }

  /** Ends the subject's other requests, and erases suppressions added since their step, for example by a long import. */
  private async closeRequests(target: ErasureTarget, tx: Transaction) {
    const { counts, kept } = await this.eraseSuppressions(target, tx);
    const exportsDeleted = await this.requests.closeOthers(target.request, target.email, tx);
    return { counts: { ...counts, exportsDeleted }, kept };
  }
}

function pageOf({ after, lastId }: ErasureProgress) {
  return { after: typeof after === 'string' ? after : NIL_ID, lastId };
}

function countsOf({ emails, events, contents }: ErasedCounts) {
  return { emailsAnonymized: emails, eventsAnonymized: events, contentsDeleted: contents };
}
