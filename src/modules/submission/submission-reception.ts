import { Injectable, Logger } from '@nestjs/common';
import type { SMTPServerAddress, SMTPServerDataStream, SMTPServerSession } from 'smtp-server';
import { DiskSpace } from '../../common/disk-space';
import { AppError } from '../../common/errors/app-error';
import { BodyBudget } from '../../common/http/request-body';
import { RequestLimits } from '../../common/http/request-limits';
import { addressKey, parseAddress } from '../../common/mail-address';
import { LineEndCheck } from '../../common/mime/line-end-check';
import { withinTenants } from '../../common/tenant-scope';
import type { TraceContext } from '../../common/tracing/tracing';
import { SendRawService } from '../emails/accept/raw/send-raw.service';
import { SubmissionLogin } from './submission-login';
import { MessageCollector } from '../../common/mime/message-collector';
import { SubmissionLimits } from './submission-limits';
import {
  badAddress,
  bareLineEnds,
  farTooLarge,
  loginNeeded,
  noRoom,
  replyTo,
  tlsNeeded,
  tooLarge,
} from './submission-refusal';
import type { SubmissionSession } from './submission-session';

/** What the listener answers to MAIL, RCPT and the end of data. */
@Injectable()
export class SubmissionReception {
  private readonly logger = new Logger(SubmissionReception.name);

  constructor(
    private readonly logins: SubmissionLogin,
    private readonly emails: SendRawService,
    private readonly rates: RequestLimits,
    private readonly limits: SubmissionLimits,
    private readonly budget: BodyBudget,
    private readonly disk: DiskSpace,
  ) {}

  /** A message is counted here, before its client sends it. @throws SubmissionRefusal */
  async begin(session: SubmissionSession): Promise<void> {
    const { login } = session;
    if (!login) throw session.isPrivate ? loginNeeded() : tlsNeeded();
    try {
      await this.logins.check(login.key);
      this.disk.assertRoom();
      this.rates.countMessage(login.principal);
    } catch (error) {
      throw this.replyTo(error);
    }
  }

  /** @throws SubmissionRefusal for what is no address */
  admit(address: SMTPServerAddress): void {
    const parsed = parseAddress(address.address);
    if (!parsed.ok) throw badAddress(parsed.message);
    address.address = parsed.email;
  }

  /**
   * Takes the message to its end and commits it; returns the text of the 250. What it reads and writes is the organization's.
   * @param trace the span that it is part of
   * @throws SubmissionRefusal, or the stream's error when the client has gone
   */
  async receive(
    stream: SMTPServerDataStream,
    { envelope }: SMTPServerSession,
    session: SubmissionSession,
    trace?: TraceContext,
  ): Promise<string> {
    const { login } = session;
    if (!login) throw loginNeeded();
    const { organizationId } = login.principal;
    const share = new BudgetShare(this.budget, organizationId);
    try {
      const bytes = await this.collect(stream, declaredSize(envelope, this.limits.maxMessageBytes), share);
      await this.logins.check(login.key);
      const recipients = envelope.rcptTo.map(({ address }) => [addressKey(address), address] as const);
      const submitted = { bytes, recipients: [...new Map(recipients).values()] };
      const submitter = { ...login.principal, trace };
      const { accepted } = await withinTenants([organizationId], () => this.emails.submit(submitted, submitter));
      return `2.0.0 queued as ${accepted.id}`;
    } catch (error) {
      throw this.replyTo(error);
    } finally {
      share.free();
    }
  }

  /** Reads on beyond a limit, since a client reads its reply at the end of its data only, but not for ever. */
  private async collect(stream: SMTPServerDataStream, expected: number, share: BudgetShare): Promise<Buffer> {
    const collector = new MessageCollector(expected);
    const lineEnds = new LineEndCheck();
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      if (stream.byteLength > this.limits.maxDataBytes) throw farTooLarge();
      if (stream.sizeExceeded || !share.take(chunk.length)) continue;
      lineEnds.add(chunk);
      collector.add(chunk);
    }
    if (stream.sizeExceeded) throw tooLarge();
    if (share.isRefused) throw noRoom();
    if (lineEnds.result !== 'crlf') throw bareLineEnds();
    return collector.take();
  }

  private replyTo(error: unknown): Error {
    const isKnown = error instanceof AppError || (error instanceof Error && 'responseCode' in error);
    if (!isKnown) this.logger.warn(`A message could not be taken: ${(error as Error).message}`);
    return replyTo(error);
  }
}

/** What one message holds of the memory for bodies; once it has been refused some, it gets no more. */
class BudgetShare {
  isRefused = false;
  private held = 0;

  constructor(
    private readonly budget: BodyBudget,
    private readonly holder: string,
  ) {}

  take(bytes: number): boolean {
    this.isRefused ||= !this.budget.take(this.holder, bytes);
    if (!this.isRefused) this.held += bytes;
    return !this.isRefused;
  }

  free(): void {
    this.budget.give(this.holder, this.held);
    this.held = 0;
  }
}

/** What the client says of its message's size (RFC 1870); it may be wrong. */
function declaredSize({ mailFrom }: SMTPServerSession['envelope'], limit: number): number {
  const size = mailFrom && mailFrom.args ? Number((mailFrom.args as Record<string, unknown>).SIZE) : Number.NaN;
  return Number.isInteger(size) && size > 0 ? Math.min(size, limit) : 0;
}
