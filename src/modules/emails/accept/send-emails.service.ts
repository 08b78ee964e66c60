import { Injectable } from '@nestjs/common';
import { OrganizationsService } from '../../../auth/organizations/organizations.service';
import { FairLimit, EVENT_LOOP } from '../../../common/async/fair-turns';
import { Clock } from '../../../common/clock';
import { AppError, ClientGoneError, ValidationError } from '../../../common/errors/app-error';
import type { Tenant } from '../../../common/tenant';
import { type TraceContext, Tracing } from '../../../common/tracing/tracing';
import { TemplateRenderer } from '../../templates/template-renderer.service';
import { AcceptService } from './commit/accept.service';
import { BatchReasons } from './request/batch-reasons';
import { FieldReader } from './request/field-reader';
import { fingerprint, fingerprintInTurns, type IdempotencyClaim, idempotencyKeyOf } from './request/idempotency';
import { decodeContents } from './request/parse-attachments';
import { fieldsOf, type ParsedSendRequest, parseSendRequest, UntimelyError } from './request/parse-send-request';
import {
  type SendRequest,
  type AcceptCommand,
  type AcceptedItem,
  type ItemResult,
  refusal,
  type RefusedItem,
  type Submission,
  type SubmissionItem,
  type SubmissionResult,
  toAppError,
} from './request/send-request';
import { SenderResolver } from './sender-resolver.service';

const SINGLE_PATH = '/v1/emails';
const BATCH_PATH = '/v1/emails/batch';
/** The key space of batch items, separate from that of whole batches. */
const BATCH_ITEM_PATH = '/v1/emails/batch#item';

export interface AcceptedRequest {
  readonly accepted: AcceptedItem;
  /** True when it is the result of an earlier request with the same key. */
  readonly replayed: boolean;
}

/**
 * Concurrent batches per organization: enough to fill the transactions. With forty at once others waited half a second, with a
 * thousand ten seconds.
 */
const BATCHES = { atATime: 6, waiting: 500 };
/** Limit of all rendered templates of one batch, whose request may be small. */
const MAX_BATCH_RENDERED = 32 * 1024 * 1024;

/** The sending tenant, with the span and the memory budget of the request. */
export interface Submitter extends Tenant {
  /** Reserves memory for rendered templates until the response is complete. @throws UnavailableError */
  readonly hold?: ((bytes: number) => void) | undefined;
  readonly trace?: TraceContext | undefined;
  /** Whether the client has disconnected. */
  readonly hasGone?: (() => boolean) | undefined;
}

/** What is looked up for an email before it is accepted. */
interface LookUps {
  readonly sender: ReturnType<SenderResolver['resolve']>;
  readonly template?: ReturnType<TemplateRenderer['lookUp']> | undefined;
}

/** Accepts emails: from a request's JSON body to the commit. */
@Injectable()
export class SendEmailsService {
  private readonly batches = new FairLimit(Infinity, BATCHES);

  constructor(
    private readonly accepts: AcceptService,
    private readonly senders: SenderResolver,
    private readonly templates: TemplateRenderer,
    private readonly organizations: OrganizationsService,
    private readonly clock: Clock,
    private readonly tracing: Tracing,
  ) {}

  /**
   * Accepts one email; returns once it is committed.
   * @param keyHeader the header X-Idempotency-Key or Idempotency-Key, not validated yet
   * @throws ValidationError, AppError
   */
  async sendOne(body: unknown, keyHeader: string | string[] | undefined, tenant: Submitter): Promise<AcceptedRequest> {
    const decoded = await decodeContents(body, tenant.organizationId);
    const parsed = parseSendRequest(body, this.clock.now(), new FieldReader(), decoded);
    const request = parsed.ok ? parsed.request : parsed.error;
    if (request instanceof ValidationError && !(request instanceof UntimelyError)) throw request;
    const key = idempotencyKeyOf(keyHeader, fieldsOf(request).idempotencyKey);
    return this.accept(request, await claimOf(SINGLE_PATH, key, body, tenant), tenant);
  }

  /**
   * Accepts the content of an email as a new email that is linked with it.
   * @param stored an error where it is not stored any more: what was accepted before, under the same key, is returned all the same
   * @throws ValidationError, AppError
   */
  sendAgain(
    stored: SendRequest | AppError,
    resentFrom: string,
    keyHeader: string | undefined,
    tenant: Tenant,
  ): Promise<AcceptedRequest> {
    const key = idempotencyKeyOf(keyHeader, undefined);
    const original = resentFrom.toLowerCase();
    const path = `/v1/emails/${original}/resend`;
    const idempotency = key === undefined ? undefined : claim(path, key, fingerprint({ resentFrom: original }), tenant);
    return this.accept(stored instanceof AppError ? stored : { ...stored, resentFrom }, idempotency, tenant);
  }

  /**
   * Accepts one validated email; returns once it is committed. An error, such as that of times that have passed, is thrown unless
   * the email was accepted before, under its key.
   * @throws AppError
   */
  async accept(
    request: SendRequest | AppError,
    idempotency: IdempotencyClaim | undefined,
    tenant: Submitter,
  ): Promise<AcceptedRequest> {
    const candidate = request instanceof AppError ? refusal(request) : await this.candidate(request, tenant, '');
    // A refusal that is not stored under a key needs no transaction.
    if (candidate.kind === 'refused' && idempotency === undefined) throw errorOf(candidate, request);
    const { results, replayed } = await this.submit({ items: [{ candidate }], idempotency }, tenant);
    const result = results[0] as ItemResult;
    if (result.kind === 'refused') throw replayed ? toAppError(result, replayed) : errorOf(result, request);
    return { accepted: result, replayed };
  }

  /**
   * Accepts up to 100 emails independently: a refused one does not affect the others.
   * @throws AppError when the request as a whole is refused
   */
  async sendBatch(
    bodies: readonly unknown[],
    keyHeader: string | string[] | undefined,
    tenant: Submitter,
  ): Promise<SubmissionResult> {
    const key = idempotencyKeyOf(keyHeader, undefined);
    const whole = await claimOf(BATCH_PATH, key, bodies, tenant);
    const idempotency = whole && { ...whole, ofBatch: true as const };
    const send = async () => this.submit({ items: await this.batchItems(bodies, tenant), idempotency }, tenant);
    return bodies.length > 1 ? this.batches.run(tenant.organizationId, send) : send();
  }

  private async submit(submission: Submission, { organizationId, trace, hasGone }: Submitter) {
    if (trace === undefined) return this.accepts.submit(submission, organizationId, hasGone);
    const startedAt = this.clock.now();
    const result = await this.accepts.submit(submission, organizationId, hasGone);
    const attributes = { 'waybill.emails': submission.items.length };
    this.tracing.record({ name: 'accept', parent: trace, startedAt, endedAt: this.clock.now(), attributes });
    return result;
  }

  /** Templates are rendered sequentially: what they make counts against the memory of the batch. */
  private async batchItems(bodies: readonly unknown[], tenant: Submitter): Promise<SubmissionItem[]> {
    if (tenant.hasGone?.()) throw new ClientGoneError();
    const bounded = { ...tenant, hold: withinBatch(tenant.hold) };
    const parsed = await this.parsedItems(bodies, tenant);
    // Together, so that their domains and their templates come by one query each.
    const lookUps = parsed.map((item) => (item instanceof AppError ? undefined : this.lookUpsOf(item, tenant)));
    await Promise.allSettled(lookUps.map((own) => Promise.allSettled([own?.sender, own?.template])));
    const items: SubmissionItem[] = [];
    const reasons = new BatchReasons();
    for (const [index, item] of parsed.entries()) {
      const found =
        item instanceof AppError ? refusal(item) : await this.candidate(item, bounded, `${index}.`, lookUps[index]);
      const candidate = found.kind === 'refused' ? reasons.shorten(found, index) : found;
      const isKeyed = !(item instanceof AppError) || item instanceof UntimelyError;
      const key = isKeyed ? fieldsOf(item).idempotencyKey : undefined;
      items.push({ candidate, idempotency: await claimOf(BATCH_ITEM_PATH, key, bodies[index], tenant) });
    }
    return items;
  }

  private lookUpsOf({ from, template }: SendRequest, tenant: Tenant): LookUps {
    return {
      sender: this.senders.resolve(from, tenant),
      template: template && this.templates.lookUp(tenant.organizationId, template),
    };
  }

  private async parsedItems(
    bodies: readonly unknown[],
    { organizationId }: Tenant,
  ): Promise<(SendRequest | AppError)[]> {
    const now = this.clock.now();
    const items: (SendRequest | AppError)[] = [];
    let values = 0;
    for (const [index, body] of bodies.entries()) {
      values += valuesIn(body);
      if (values > TURN) {
        await EVENT_LOOP.next(organizationId);
        values = valuesIn(body);
      }
      items.push(await parseItem(body, now, new FieldReader(`${index}.`), organizationId));
    }
    return items;
  }

  /** Returns a business error as a value, because it is a result to be stored. */
  private async candidate(
    given: SendRequest,
    tenant: Submitter,
    prefix: string,
    lookUps: LookUps = { sender: this.senders.resolve(given.from, tenant) },
  ): Promise<SubmissionItem['candidate']> {
    const { organizationId, mode, trace } = tenant;
    try {
      const domain = await lookUps.sender;
      const request = given.template ? await this.rendered(given, tenant, prefix, lookUps.template) : given;
      const settings = await this.organizations.settingsOf(organizationId);
      const { trackOpens: opens, trackClicks: clicks, monthlyRecipients } = settings;
      const submitted = { organizationId, mode, domain, request, monthlyRecipients, trace };
      return { kind: 'command', ...submitted, trackByDefault: { opens, clicks } } satisfies AcceptCommand;
    } catch (error) {
      if (error instanceof AppError && /^(domain|template)_/.test(error.code)) return refusal(error);
      throw error;
    }
  }

  /** The request with subject, html and text rendered now: later versions of the template do not change it. */
  private async rendered(
    request: SendRequest,
    tenant: Submitter,
    prefix: string,
    lookUp: LookUps['template'],
  ): Promise<SendRequest> {
    const { template, ...others } = request;
    if (!template) return request;
    const { organizationId, hold } = tenant;
    const { subject, html, text } = await this.templates.render(organizationId, template, `${prefix}template.`, lookUp);
    hold?.(Buffer.byteLength(html ?? '') + Buffer.byteLength(text ?? ''));
    return { ...others, subject, html, text };
  }
}

function errorOf(refused: RefusedItem, request: SendRequest | AppError): AppError {
  return request instanceof AppError ? request : toAppError(refused);
}

/** The memory budget of a batch: items beyond the limit are refused, earlier ones are kept. */
function withinBatch(hold: Submitter['hold']): (bytes: number) => void {
  let left = MAX_BATCH_RENDERED;
  return (bytes) => {
    if (bytes > left) throw tooMuchRendered();
    hold?.(bytes);
    left -= bytes;
  };
}

function tooMuchRendered(): AppError {
  return new AppError('template_render_failed', 'What the templates of this batch make is more than 32 MiB in all', {
    suggestion: 'Send fewer emails in one batch',
  });
}

/** Values validated in one turn of the event loop, some milliseconds: a batch may have fifty thousand addresses. */
const TURN = 2_000;

/** Estimated number of values of an item. */
function valuesIn(body: unknown): number {
  if (typeof body !== 'object' || body === null) return 1;
  return Object.values(body).reduce((sum: number, field) => sum + (Array.isArray(field) ? field.length : 1), 0);
}

/** Parses an item; one that the JSON reader has refused already is an AppError. */
async function parseItem(
  body: unknown,
  now: Date,
  reader: FieldReader,
  holder: string,
): Promise<SendRequest | AppError> {
  if (body instanceof AppError) return body;
  try {
    const parsed: ParsedSendRequest = parseSendRequest(body, now, reader, await decodeContents(body, holder));
    return parsed.ok ? parsed.request : parsed.error;
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
}

/** The idempotency claim of a request or an item; undefined without a key. */
export async function claimOf(
  path: string,
  key: string | undefined,
  body: unknown,
  tenant: Tenant,
): Promise<IdempotencyClaim | undefined> {
  return key === undefined
    ? undefined
    : claim(path, key, await fingerprintInTurns(body, tenant.organizationId), tenant);
}

/** Keys bound to a domain have an idempotency key space of their own: they must not read or replace responses of other keys. */
export function claim(path: string, key: string, hash: Buffer, tenant: Tenant): IdempotencyClaim {
  const { organizationId, mode, domainId } = tenant;
  const scope = domainId === undefined ? path : `${path}@${domainId}`;
  return { organizationId, mode, path: scope, key, fingerprint: hash };
}
