import { Injectable } from '@nestjs/common';
import { FairLimit } from '../../common/async/fair-turns';
import { HOUR } from '../../common/clock';
import type { ListedPage } from '../../common/ids';
import { clientGone, type Tenant } from '../../common/tenant';
import { type CountedHour, StatsService } from '../stats/stats.service';
import type { Email } from './email.entity';
import { type EmailBodies, EmailListsRepository, type Page } from './emails.repository';
import { type IdRange, idRange, splitAtHours, type TimeRange } from './id-range';
import type { EmailStatus } from './outcomes/email-state';

export interface EmailFilter {
  readonly status?: EmailStatus;
  readonly tag?: string;
  /** Normal form. */
  readonly recipient?: string;
  /** A part of the subject, ignoring case. */
  readonly subject?: string;
  readonly domainId?: string;
  readonly from?: Date;
  readonly to?: Date;
}

/** A page of emails; `partial` is set by searches only. */
export interface ListedEmails extends ListedPage {
  readonly emails: readonly Email[];
}

export interface ListPage {
  readonly page: number;
  readonly limit: number;
  /** Only emails older than this id; pages are then counted from there. */
  readonly after?: string;
}

const NOTHING: ListedEmails = { emails: [], total: 0, next: undefined, partial: false };

/**
 * Pages of emails, newest first. By time and domain, every page costs the same and `total` is exact, since both come from the
 * counts per hour, which tell the hours that hold a page. By status, tag, recipient or subject there is no such count, and a
 * limited number of the newest emails of the range is examined (docs/adr/0018).
 */
@Injectable()
export class EmailListService {
  /** A search may take a processor of the database for 50 ms and more: an organization has one at a time, and never all connections. */
  private readonly searches = new FairLimit(4, { atATime: 1, waiting: 100 });

  constructor(
    private readonly emails: EmailListsRepository,
    private readonly counts: StatsService,
  ) {}

  /**
   * The filter's `recipient` is a normal form.
   * @throws UnavailableError, also when the client has gone before its search began; TooManyAtATimeError when too many searches wait
   */
  async page(tenant: Tenant, filter: EmailFilter, { page, limit, after }: ListPage): Promise<ListedEmails> {
    const { organizationId, mode, domainId: bound } = tenant;
    if (bound !== undefined && filter.domainId !== undefined && filter.domainId !== bound) return NOTHING;
    const scope = { organizationId, mode, domainId: bound ?? filter.domainId };
    const wanted = { offset: (page - 1) * limit, limit };
    const { status, tag, recipient, subject } = filter;
    return [status, tag, recipient, subject].every((term) => term === undefined)
      ? this.listed(scope, filter, wanted, after)
      : this.searches.run(organizationId, () => this.searched(scope, filter, wanted, after), clientGone());
  }

  /** The bodies of at most `maxBytes`; longer ones are not read. @throws UnavailableError */
  shortBodies(tenant: Tenant, ids: readonly string[], maxBytes: number): Promise<EmailBodies[]> {
    return this.emails.findShortBodies(tenant, ids, maxBytes);
  }

  private async listed(scope: Tenant, range: TimeRange, page: Page, after?: string): Promise<ListedEmails> {
    const whole = new CountedSpan(scope, range, { emails: this.emails, counts: this.counts });
    const total = await whole.count();
    const { ranges, offset } = await (after === undefined ? whole.locate(page) : this.after(after, scope, range, page));
    const ids = await this.emails.listIds(scope, ranges, { limit: page.limit, offset });
    return {
      emails: await this.emails.findAll(scope, ids),
      total,
      next: ids.length === page.limit ? ids.at(-1) : undefined,
      partial: false,
    };
  }

  /** The place of a page after an id. The next emails follow directly, except that those of one domain may be hours apart. */
  private async after(after: string, scope: Tenant, range: TimeRange, page: Page): Promise<Place> {
    if (scope.domainId === undefined) return { ranges: [idRange(range, after)], offset: page.offset };
    const rest = new CountedSpan(scope, range, { emails: this.emails, counts: this.counts }, after);
    await rest.count();
    return rest.locate(page);
  }

  private async searched(scope: Tenant, filter: EmailFilter, page: Page, after?: string): Promise<ListedEmails> {
    const { status, tag, recipient, subject } = filter;
    const terms = { status, tag, recipient, subject };
    const nothing = { offset: 0, limit: 0 };
    const found = await this.emails.search(scope, idRange(filter, after), terms, page);
    const whole = after === undefined ? found : await this.emails.search(scope, idRange(filter), terms, nothing);
    const { total, stoppedAt } = whole;
    const emails = await this.emails.findAll(scope, found.ids);
    const next = found.ids.length === page.limit ? found.ids.at(-1) : found.stoppedAt;
    return { emails, total, next, partial: stoppedAt !== undefined };
  }
}

/** The place of a page: ranges of ids, newest first, and the number of emails of the first one to skip. */
interface Place {
  readonly ranges: readonly IdRange[];
  readonly offset: number;
}

/** The emails of a span of time, whose whole hours are counted already. Call `count` before `locate`. */
class CountedSpan {
  private readonly parts;
  private newest = 0;
  private hours = 0;

  /** @param before an id that ends the span earlier */
  constructor(
    private readonly scope: Tenant,
    range: TimeRange,
    private readonly sources: { readonly emails: EmailListsRepository; readonly counts: StatsService },
    before?: string,
  ) {
    this.parts = splitAtHours(range, before);
  }

  async count(): Promise<number> {
    const { newest, hours, oldest } = this.parts;
    const { emails, counts } = this.sources;
    const { domainId } = this.scope;
    // Sequentially: a request takes one connection at a time.
    this.newest = newest ? await emails.count(this.scope, newest) : 0;
    this.hours = hours ? await counts.countEmails({ ...this.scope, domainId, ...hours }) : 0;
    return this.newest + this.hours + (oldest ? await emails.count(this.scope, oldest) : 0);
  }

  async locate({ offset, limit }: Page): Promise<Place> {
    const { newest, oldest } = this.parts;
    const isInNewest = newest !== undefined && offset < this.newest;
    const inHours = Math.max(0, offset - this.newest);
    const hours = await this.hoursAt({ offset: inHours, limit });
    const ranges = [
      ...(isInNewest ? [newest] : []),
      ...hours.map(({ hour }) => rangeOf(hour)),
      ...(oldest ? [oldest] : []),
    ];
    if (isInNewest) return { ranges, offset };
    const [first] = hours;
    return { ranges, offset: first ? inHours - first.newer : inHours - this.hours };
  }

  private async hoursAt(page: Page): Promise<CountedHour[]> {
    const { hours } = this.parts;
    return hours
      ? this.sources.counts.locateEmails({ ...this.scope, domainId: this.scope.domainId, ...hours }, page)
      : [];
  }
}

function rangeOf(hour: Date): IdRange {
  return idRange({ from: hour, to: new Date(hour.getTime() + HOUR) });
}

export type { EmailBodies };
