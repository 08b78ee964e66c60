import { Injectable } from '@nestjs/common';
import { Clock, DAY } from '../../../common/clock';
import { NIL_ID } from '../../../common/ids';
import { AppConfig } from '../../../config/config';
import { Database } from '../../../database/pool/database.service';
import type { Transaction } from '../../../database/statements/transaction';
import type { SubjectRange, SubjectScope } from '../../emails/privacy/subject-emails.service';
import type { ExportSection } from '../requests/privacy-request.entity';
import { type LeasedRequest, type PrivacyRequestHandler, PrivacyWork } from '../requests/privacy-work.service';
import { ExportCollector } from './export-collector.service';
import { type ExportItems, SECTIONS, type ExportProgress, progressOf, toParts } from './export-items';
import { type EncryptedPart, ExportParts } from './exports.service';

const NO_EMAILS = { emails: [], events: [], last: undefined };

/** Pages of 100 emails until other organizations have their turn. */
const PAGES_PER_TURN = 10;
/** Bytes of a part before compression; a single email may have more. */
export const MAX_PART_BYTES = 1024 * 1024;

/**
 * Exports the data of a subject (GDPR article 15) page by page. The parts of a page are written in one transaction with the
 * progress, so that each part is written once, also after a crash. Emails accepted after the request are not included.
 */
@Injectable()
export class ExportHandler implements PrivacyRequestHandler {
  readonly type = 'article_15_access';

  constructor(
    private readonly collector: ExportCollector,
    private readonly parts: ExportParts,
    private readonly work: PrivacyWork,
    private readonly database: Database,
    private readonly config: AppConfig,
    private readonly clock: Clock,
  ) {}

  async run(leased: LeasedRequest, signal: AbortSignal): Promise<void> {
    const { organizationId, mode, id: before } = leased;
    const scope = { organizationId, mode, address: this.work.subjectOf(leased).email };
    let progress = progressOf(leased);
    for (let pages = 0; pages < PAGES_PER_TURN && !signal.aborted; pages += 1) {
      const page = await this.nextPage(scope, progress, before);
      if (!page) {
        const suppressions = await this.collector.suppressionsOf(scope);
        return this.finish(leased, progress, { emails: [], events: [], suppressions });
      }
      progress = await this.append(leased, { ...progress, ...page.place }, { ...page.items, suppressions: [] });
    }
    await (signal.aborted ? this.work.putBack(leased) : this.work.yieldTurn(leased));
  }

  /** Emails to the subject, those from it, then inbound mail; undefined after the last. */
  private async nextPage(scope: SubjectScope, { after, sentAfter, inboundAfter }: ExportProgress, before: string) {
    if (inboundAfter !== undefined) return this.nextInbound(scope, { after: inboundAfter, before });
    if (sentAfter === undefined) {
      const { last, ...items } = (await this.collector.nextEmails(scope, { after, before })) ?? NO_EMAILS;
      return { items, place: last === undefined ? { sentAfter: NIL_ID } : { after: last } };
    }
    const { last, ...items } = (await this.collector.nextSent(scope, { after: sentAfter, before })) ?? NO_EMAILS;
    return { items, place: last === undefined ? { inboundAfter: NIL_ID } : { sentAfter: last } };
  }

  private async nextInbound(scope: SubjectScope, range: SubjectRange) {
    const page = await this.collector.nextInbound(scope, range);
    return page && { items: { emails: page.emails, events: page.events }, place: { inboundAfter: page.last } };
  }

  private async finish(leased: LeasedRequest, progress: ExportProgress, items: ExportItems): Promise<void> {
    const expiresAt = new Date(this.clock.now().getTime() + this.config.retention.exportDays * DAY);
    await this.append(leased, progress, items, (tx) => this.work.complete(leased, { expiresAt }, tx));
  }

  private async append(
    leased: LeasedRequest,
    progress: ExportProgress,
    items: ExportItems,
    andThen?: (tx: Transaction) => Promise<void>,
  ): Promise<ExportProgress> {
    const added = await this.addTo(leased, progress, items);
    const write = async (tx: Transaction): Promise<void> => {
      await this.work.saveProgress(leased, { ...added.progress }, tx);
      await this.parts.write(added.parts, tx);
      await andThen?.(tx);
    };
    await this.parts.whenRoom(added.parts, leased.organizationId, () => this.database.transaction(write));
    return added.progress;
  }

  private async addTo(leased: LeasedRequest, progress: ExportProgress, items: ExportItems) {
    const encrypted: EncryptedPart[] = [];
    const parts: Record<ExportSection, number> = { ...progress.parts };
    const counts: Record<ExportSection, number> = { ...progress.items };
    let { bytes } = progress;
    for (const section of SECTIONS) {
      counts[section] += items[section].length;
      for (const part of await toParts(items[section], MAX_PART_BYTES)) {
        encrypted.push(await this.parts.encrypt(part, keyOf(leased, section, parts[section])));
        parts[section] += 1;
        bytes += part.length;
      }
    }
    return { parts: encrypted, progress: { ...progress, parts, items: counts, bytes } };
  }
}

function keyOf({ organizationId, mode, id }: LeasedRequest, section: ExportSection, part: number) {
  return { organizationId, mode, id, section, part };
}
