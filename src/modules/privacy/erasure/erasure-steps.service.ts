import { Injectable } from '@nestjs/common';
import type { Transaction } from '../../../database/transaction';
import {
  type ErasedCounts,
  type ErasedSubject,
  SubjectErasureService,
} from '../../emails/privacy/subject-erasure.service';
import { InboundEmailsService } from '../../inbound-mail/inbound-emails.service';
import { InboundService } from '../../inbound/inbound.service';
import { MailboxErasureService } from '../../mailbox/mailbox-erasure.service';
import { SuppressionErasure } from '../../suppressions/suppression-erasure.service';
import type { RequestKey } from '../requests/privacy-request.entity';
import { PrivacyRequestsService } from '../requests/privacy-requests.service';
import type { ErasureProgress, KeyPlace, PageResult } from './erasure-progress';
import { NIL_ID } from '../../../common/ids';

/** Whom an erasure is about. */
export interface ErasureTarget {
  readonly request: RequestKey;
  /** Normal form. */
  readonly email: string;
  readonly subject: ErasedSubject;
}

/** Erases one page, in the transaction that counts it. */
export type ErasePage = (tx: Transaction) => Promise<PageResult>;

/** One page of one step of an erasure, through those who own the data. */
@Injectable()
export class ErasureSteps {
  constructor(
    private readonly emails: SubjectErasureService,
    private readonly reports: InboundService,
    private readonly suppressions: SuppressionErasure,
    private readonly inbound: InboundEmailsService,
    private readonly mailbox: MailboxErasureService,
    private readonly requests: PrivacyRequestsService,
  ) {}

  targetOf({ organizationId, mode, id }: RequestKey, email: string): ErasureTarget {
    const subject = this.emails.subjectOf({ organizationId, mode }, email);
    return { request: { organizationId, mode, id }, email, subject };
  }

  /** Finds what the next page is to erase, and returns what does it: looking through files takes longer than a transaction may. */
  async prepare(target: ErasureTarget, progress: ErasureProgress): Promise<ErasePage> {
    switch (progress.step) {
      case 'received':
      case 'late':
        return this.prepareReceived(target, progress);
      case 'sent':
        return this.prepareSent(target, progress);
      case 'responses':
        return (tx) => this.eraseResponses(target, progress, tx);
      case 'suppressions':
        return (tx) => this.eraseSuppressions(target, tx);
      case 'inbound':
        return (tx) => this.eraseInbound(target, tx);
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
      const erased = await this.emails.eraseReceived(subject, page, tx);
      const counts = {
        ...countsOf(erased),
        recipientsAnonymized: erased.deliveries.length,
        deliveriesCancelled: erased.cancelled,
        reportsDeleted: await this.reports.erase(erased.deliveries, tx),
      };
      return { counts, busy: erased.busy, next, attachment };
    };
  }

  private async prepareSent({ subject }: ErasureTarget, progress: ErasureProgress): Promise<ErasePage> {
    const page = await this.emails.prepareSent(subject, pageOf(progress), progress.attachment);
    const { next, attachment } = page;
    return async (tx) => ({ counts: countsOf(await this.emails.eraseSent(subject, page, tx)), next, attachment });
  }

  private async eraseResponses({ subject }: ErasureTarget, { after }: ErasureProgress, tx: Transaction) {
    return { next: await this.emails.eraseResponses(subject, after as KeyPlace | undefined, tx) };
  }

  private async eraseSuppressions({ request, email }: ErasureTarget, tx: Transaction) {
    const { removed, hashed, kept } = await this.suppressions.erase(request, email, tx);
    return { counts: { suppressionsRemoved: removed, suppressionsHashed: hashed }, kept };
  }

  /** Mail that the subject has sent to a route, or that names them: whole, as what else of it is theirs cannot be known. */
  private async eraseInbound({ request, email }: ErasureTarget, tx: Transaction): Promise<PageResult> {
    const { deleted, isMore } = await this.inbound.erase(request, email, tx);
    return { counts: { inboundEmailsDeleted: deleted }, ...(isMore && { next: NIL_ID }) };
  }

  /** Test mail never leaves, so no copy of it gets there. */
  private async prepareCopies({ subject }: ErasureTarget, progress: ErasureProgress): Promise<ErasePage> {
    if (subject.mode === 'test') return () => Promise.resolve({});
    const { lastId, lastCopyId = lastId } = progress;
    const { ids, next } = await this.mailbox.find(subject, { ...pageOf(progress), lastId: lastCopyId });
    return async (tx) => ({ counts: { mailboxCopiesDeleted: await this.mailbox.delete(ids, tx) }, next });
  }

  private async closeRequests({ request, email }: ErasureTarget, tx: Transaction) {
    return { counts: { exportsDeleted: await this.requests.closeOthers(request, email, tx) } };
  }
}

function pageOf({ after, lastId }: ErasureProgress) {
  return { after: typeof after === 'string' ? after : NIL_ID, lastId };
}

function countsOf({ emails, events, contents }: ErasedCounts) {
  return { emailsAnonymized: emails, eventsAnonymized: events, contentsDeleted: contents };
}
