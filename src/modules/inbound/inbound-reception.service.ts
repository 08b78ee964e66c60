import { Injectable, Logger } from '@nestjs/common';
import type { SMTPServerAddress, SMTPServerDataStream, SMTPServerSession } from 'smtp-server';
import { AppConfig } from '../../config/config';
import { readBounceAddress } from './bounce-address';
import { InboundLimits } from './inbound-limits';
import { InboundMetrics } from './inbound-metrics';
import type { ReportSubject } from './inbound-report';
import { InboundService } from './inbound.service';
import {
  relayDenied,
  SmtpRefusal,
  tooLarge,
  tooManyRefusals,
  tooMuchData,
  unavailable,
  unknownAddress,
} from './smtp-refusal';

/**
 * What the listener answers to RCPT and to the end of data. Only our own return paths are recipients; a message is
 * answered 250 once it is committed, and also when it had been committed before.
 */
@Injectable()
export class InboundReception {
  private readonly logger = new Logger(InboundReception.name);
  /** By the address object of the session's envelope, so that a reset transaction forgets them by itself. */
  private readonly subjects = new WeakMap<SMTPServerAddress, ReportSubject>();
  private readonly refusals = new WeakMap<SMTPServerSession, number>();

  constructor(
    private readonly inbound: InboundService,
    private readonly limits: InboundLimits,
    private readonly metrics: InboundMetrics,
    private readonly config: AppConfig,
  ) {}

  /** @throws SmtpRefusal for any address but a genuine return path */
  async admit(address: SMTPServerAddress, session: SMTPServerSession): Promise<void> {
    try {
      this.subjects.set(address, await this.subjectOf(address.address));
    } catch (error) {
      throw this.counted(error instanceof SmtpRefusal ? this.refusalIn(session, error) : this.outage(error));
    }
  }

  /**
   * Takes the message to its end and commits it.
   * @throws SmtpRefusal, or the stream's error when the client has gone
   */
  async receive(stream: SMTPServerDataStream, { envelope }: SMTPServerSession): Promise<void> {
    const message = await this.collect(stream);
    const subjects = envelope.rcptTo.flatMap((address) => this.subjects.get(address) ?? []);
    const sender = envelope.mailFrom ? envelope.mailFrom.address : '';
    try {
      const added = await this.inbound.append(subjects, sender, message);
      this.metrics.countReports(added, subjects.length - added);
    } catch (error) {
      throw this.counted(this.outage(error));
    }
  }

  private async subjectOf(address: string): Promise<ReportSubject> {
    const bounce = readBounceAddress(address, this.config.delivery.mailHost);
    if (bounce.kind === 'foreign') throw relayDenied();
    const subject = bounce.kind === 'ours' ? await this.inbound.subjectOf(bounce.localPart) : undefined;
    if (!subject) throw unknownAddress();
    return subject;
  }

  /** Reads on beyond the limit, since a client hears its 552 at the end of its data only, but not for ever. */
  private async collect(stream: SMTPServerDataStream): Promise<Buffer> {
    const chunks: Buffer[] = [];
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      if (stream.sizeExceeded) chunks.length = 0;
      else chunks.push(chunk);
      if (stream.byteLength > this.limits.maxDataBytes) throw this.counted(tooMuchData());
    }
    if (stream.sizeExceeded) throw this.counted(tooLarge());
    return Buffer.concat(chunks);
  }

  /** The refusal itself, or the end of the connection for a client that has collected too many. */
  private refusalIn(session: SMTPServerSession, refusal: SmtpRefusal): SmtpRefusal {
    const count = (this.refusals.get(session) ?? 0) + 1;
    this.refusals.set(session, count);
    return count > this.limits.maxRefusals ? tooManyRefusals() : refusal;
  }

  private outage(error: unknown): SmtpRefusal {
    this.logger.warn(`A report could not be taken: ${(error as Error).message}`);
    return unavailable();
  }

  private counted(refusal: SmtpRefusal): SmtpRefusal {
    this.metrics.countRefusal(refusal.reason);
    return refusal;
  }
}
