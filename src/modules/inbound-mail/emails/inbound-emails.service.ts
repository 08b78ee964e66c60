import { Injectable } from '@nestjs/common';
import { AuditService } from '../../../audit/audit.service';
import { FairLimit } from '../../../common/async/fair-turns';
import { NotFoundError } from '../../../common/errors/app-error';
import { LAST_ID, type ListedPage } from '../../../common/ids';
import { addressKeys } from '../../../common/address-forms';
import { parseAddress } from '../../../common/mail-address';
import { type ReadMessage, readFile, readMessage } from '../../../common/mime/message-view';
import { clientGone, type Tenant } from '../../../common/tenant';
import { Database } from '../../../database/pool/database.service';
import type { InboundEmail } from './inbound-email.entity';
import { InboundEmailsRepository, type InboundSearch, type Page } from './inbound-emails.repository';
import { InboundMailLimits } from './inbound-mail-limits';

/** Each may be of 25 MiB. */
const AT_A_TIME = 4;

export interface ListPage {
  readonly page: number;
  readonly limit: number;
  /** Only emails older than this id; pages are then counted from there. */
  readonly after?: string | undefined;
}

export interface ListedInbound extends ListedPage {
  readonly emails: readonly InboundEmail[];
}

export interface ShownInboundEmail {
  readonly email: InboundEmail;
  readonly message: ReadMessage;
}

/** Takes so much memory for a response until the client has read it. @throws AppError when there is not so much */
export type TakeMemory = (bytes: number) => void;

/** Mail that has come, as clients read it: it is stored as it came, and parsed when a client reads it. */
@Injectable()
export class InboundEmailsService {
  private readonly limit = new FairLimit(AT_A_TIME);
  /** A search examines as many rows as one of emails does: an organization has one at a time, and never all connections. */
  private readonly searches = new FairLimit(4, { atATime: 1, waiting: 100 });

  constructor(
    private readonly emails: InboundEmailsRepository,
    private readonly audit: AuditService,
    private readonly database: Database,
    private readonly limits: InboundMailLimits,
  ) {}

  /** How many of an organization's emails a list reaches by number of page; a cursor reaches all. */
  get reach(): number {
    return this.limits.searchWindow;
  }

  /**
   * Newest first. Of all of an organization's mail, `total` is exact; of what an address or a domain has, the newest are
   * examined, so many and no more. @throws UnavailableError; TooManyAtATimeError when too many searches wait
   */
  async page(
    tenant: Tenant,
    { from, to }: { from?: string; to?: string },
    { page, limit, after }: ListPage,
  ): Promise<ListedInbound> {
    const terms = { from: formsOf(from), to: formsOf(to) };
    const wanted = { offset: (page - 1) * limit, limit };
    const isSearch = [tenant.domainId, terms.from, terms.to].some((term) => term !== undefined);
    return isSearch
      ? this.searches.run(tenant.organizationId, () => this.searched(tenant, terms, wanted, after), clientGone())
      : this.listed(tenant, wanted, after);
  }

  /** @throws NotFoundError, UnavailableError */
  async get(tenant: Tenant, id: string, take: TakeMemory): Promise<ShownInboundEmail> {
    const email = await this.require(tenant, id);
    take(email.sizeBytes);
    const read = async (): Promise<ReadMessage> => readMessage(await this.load(email));
    const message = await this.limit.run(tenant.organizationId, read, clientGone());
    return { email, message };
  }

  /** As it came. @throws NotFoundError, UnavailableError */
  async raw(tenant: Tenant, id: string, take: TakeMemory): Promise<Buffer> {
    const email = await this.require(tenant, id);
    take(email.sizeBytes);
    return this.limit.run(tenant.organizationId, () => this.load(email), clientGone());
  }

  /** @throws NotFoundError, UnavailableError */
  async attachment(
    tenant: Tenant,
    id: string,
    index: number,
    take: TakeMemory,
  ): Promise<{ filename: string; bytes: Buffer }> {
    const email = await this.emails.find(tenant, id);
    if (!email) throw unknownFile();
    take(email.sizeBytes);
    const read = async () => {
      const file = await readFile(await this.load(email), index);
      if (!file) throw unknownFile();
      return file;
    };
    return this.limit.run(tenant.organizationId, read, clientGone());
  }

  /** Deletes it with its bytes; its event goes from the feed too. @throws NotFoundError, UnavailableError */
  async remove(tenant: Tenant, actor: string, id: string): Promise<void> {
    const { organizationId, mode } = tenant;
    await this.database.transaction(async (tx) => {
      if (!(await this.emails.delete(tenant, id, tx))) throw new NotFoundError('Inbound email');
      const what = { action: 'inbound_email.deleted', targetType: 'inbound_email', targetId: id, data: { mode } };
      await this.audit.record([{ organizationId, actor, ...what }], tx);
    });
  }

  /** Nothing once it was deleted. @throws UnavailableError */
  async bodiesOf(email: InboundEmail): Promise<Partial<Pick<ReadMessage, 'text' | 'html'>>> {
    return this.limit.run(email.organizationId, async () => {
      const bytes = await this.emails.load(email);
      return bytes ? readMessage(bytes) : {};
    });
  }

  private async listed(tenant: Tenant, { offset, limit }: Page, after = LAST_ID): Promise<ListedInbound> {
    const page = { offset, limit: offset < this.reach ? limit : 0 };
    const { ids, total } = await this.emails.list(tenant, after, page);
    const emails = await this.emails.findAll(tenant, ids);
    return { emails, total, next: ids.length === limit ? ids.at(-1) : undefined, partial: false };
  }

  private async searched(tenant: Tenant, terms: InboundSearch, page: Page, after?: string): Promise<ListedInbound> {
    const window = this.reach;
    const nothing = { offset: 0, limit: 0 };
    const found = await this.emails.search(tenant, { before: after ?? LAST_ID, window }, terms, page);
    const all = { before: LAST_ID, window };
    const whole = after === undefined ? found : await this.emails.search(tenant, all, terms, nothing);
    const { total, stoppedAt } = whole;
    const emails = await this.emails.findAll(tenant, found.ids);
    const next = found.ids.length === page.limit ? found.ids.at(-1) : found.stoppedAt;
    return { emails, total, next, partial: stoppedAt !== undefined };
  }

  private async require(tenant: Tenant, id: string): Promise<InboundEmail> {
    const email = await this.emails.find(tenant, id);
    if (!email) throw new NotFoundError('Inbound email');
    return email;
  }

  private async load(email: InboundEmail): Promise<Buffer> {
    const bytes = await this.emails.load(email);
    if (!bytes) throw new NotFoundError('Inbound email');
    return bytes;
  }
}

/** What an address may be stored as; other text is looked for as it is, and matches nothing. */
function formsOf(address: string | undefined): string[] | undefined {
  if (address === undefined) return undefined;
  const parsed = parseAddress(address);
  return addressKeys(parsed.ok ? parsed.email : address);
}

/** The same for a missing file, so that a 404 does not disclose which mail exists. */
function unknownFile(): NotFoundError {
  return new NotFoundError('Attachment');
}

export type { InboundEmail };
