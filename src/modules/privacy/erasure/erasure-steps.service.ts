import { Injectable } from '@nestjs/common';
import type { Transaction } from '../../../database/transaction';
import {
  SubjectEmailsService,
  type ErasedCounts,
  type ErasedSubject,
} from '../../emails/privacy/subject-emails.service';
import { InboundService } from '../../inbound/inbound.service';
import { MailboxService } from '../../mailbox/mailbox.service';
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

/** One page of one step of an erasure, through those who own the data. */
@Injectable()
export class ErasureSteps {
  constructor(
    private readonly emails: SubjectEmailsService,
    private readonly reports: InboundService,
    private readonly suppressions: SuppressionErasure,
    private readonly mailbox: MailboxService,
    private readonly requests: PrivacyRequestsService,
  ) {}

  targetOf({ organizationId, mode, id }: RequestKey, email: string): ErasureTarget {
    const subject = this.emails.subjectOf({ organizationId, mode }, email);
    return { request: { organizationId, mode, id }, email, subject };
  }

  run(target: ErasureTarget, progress: ErasureProgress, tx: Transaction): Promise<PageResult> {
    switch (progress.step) {
      case 'received':
      case 'late':
        return this.eraseReceived(target, progress, tx);
      case 'sent':
        return this.eraseSent(target, progress, tx);
      case 'responses':
        return this.eraseResponses(target, progress, tx);
      case 'suppressions':
        return this.eraseSuppressions(target, tx);
      case 'mailbox':
        return this.eraseCopies(target, progress, tx);
      case 'requests':
        return this.closeRequests(target, tx);
      case 'done':
        return Promise.resolve({});
    }
  }

  private async eraseReceived({ subject }: ErasureTarget, progress: ErasureProgress, tx: Transaction) {
    const erased = await this.emails.eraseReceived(subject, pageOf(progress), tx);
    const { deliveries, cancelled, busy, next } = erased;
    const counts = {
      ...countsOf(erased),
      recipientsAnonymized: deliveries.length,
      deliveriesCancelled: cancelled,
      reportsDeleted: await this.reports.erase(deliveries, tx),
    };
    return { counts, busy, next };
  }

  private async eraseSent({ subject }: ErasureTarget, progress: ErasureProgress, tx: Transaction) {
    const erased = await this.emails.eraseSent(subject, pageOf(progress), tx);
    return { counts: countsOf(erased), next: erased.next };
  }

  private async eraseResponses({ subject }: ErasureTarget, { after }: ErasureProgress, tx: Transaction) {
    return { next: await this.emails.eraseResponses(subject, after as KeyPlace | undefined, tx) };
  }

  private async eraseSuppressions({ request, email }: ErasureTarget, tx: Transaction) {
    const { removed, hashed, kept } = await this.suppressions.erase(request, email, tx);
    return { counts: { suppressionsRemoved: removed, suppressionsHashed: hashed }, kept };
  }

  /** Test mail never leaves, so no copy of it gets there. */
  private async eraseCopies({ subject }: ErasureTarget, progress: ErasureProgress, tx: Transaction) {
    if (subject.mode === 'test') return {};
    const { deleted, next } = await this.mailbox.erase(subject, pageOf(progress), tx);
    return { counts: { mailboxCopiesDeleted: deleted }, next };
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
