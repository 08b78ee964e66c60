import { Injectable } from '@nestjs/common';
import { AuditService } from '../../audit/audit.service';
import { Clock } from '../../common/clock';
import { DiskSpace } from '../../common/disk-space';
import { AppError, NotFoundError, ValidationError } from '../../common/errors/app-error';
import { newId } from '../../common/ids';
import { Database } from '../../database/pool/database.service';
import { violatedConstraint } from '../../database/statements/database-errors';
import type { Transaction } from '../../database/statements/transaction';
import { type RenderedTemplate, TemplateRenderer, type TemplateUse } from './template-renderer.service';
import { KEPT_BYTES, KEPT_VERSIONS, type Template, type TemplateVersion, TOTAL_BYTES } from './template.entity';
import { type ListedVersion, type TemplateSlice, TemplatesRepository } from './templates.repository';

/** A change of a template: undefined properties stay, an empty part is removed. */
export interface TemplateChange {
  readonly name?: string;
  readonly subject?: string;
  readonly html?: string;
  readonly text?: string;
}

export type NewTemplate = TemplateChange & Required<Pick<TemplateChange, 'name' | 'subject'>>;

/** The author of a change: a key, or the command line. */
export interface TemplateAuthor {
  readonly organizationId: string;
  readonly actor: string;
}

type CheckedParts = Pick<TemplateVersion, 'subject' | 'html' | 'text' | 'variables'>;

export interface TemplateView<Version = TemplateVersion> {
  readonly template: Template;
  readonly version: Version;
}

export interface ListedTemplate {
  readonly template: Template;
  readonly version: ListedVersion | undefined;
}

const MAX_TEMPLATES = 1_000;

/** The templates of an organization: unique names, and a new version with every change. */
@Injectable()
export class TemplatesService {
  constructor(
    private readonly templates: TemplatesRepository,
    private readonly renderer: TemplateRenderer,
    private readonly audit: AuditService,
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly disk: DiskSpace,
  ) {}

  /** @throws AppError invalid_request for a syntax error, template_already_exists, template_limit_reached */
  async create(author: TemplateAuthor, { name, subject, html, text }: NewTemplate): Promise<TemplateView> {
    const { organizationId } = author;
    const parts = await this.checked(organizationId, { subject, html, text });
    const now = this.clock.now();
    const storedBytes = bytesOf(parts);
    const template = { organizationId, id: newId(), name, version: 1, createdAt: now, updatedAt: now, storedBytes };
    const version = { organizationId, templateId: template.id, version: 1, createdAt: now, ...parts };
    await this.write(version, name, async (tx) => {
      const total = await this.templates.totalBytes(organizationId, tx);
      if ((await this.templates.count(organizationId, tx)) >= MAX_TEMPLATES) throw tooMany();
      if (total + storedBytes > TOTAL_BYTES) throw tooLarge();
      await this.templates.insert(template, tx);
      await this.templates.insertVersion(version, tx);
      await this.record(author, 'template.created', template, tx);
    });
    return { template, version };
  }

  /** In the order of names, with the total number. One that is deleted meanwhile has no version: it is still a place in the list. */
  async page(organizationId: string, slice: TemplateSlice) {
    const [templates, total] = await this.templates.page(organizationId, slice);
    const latest = await this.templates.latest(organizationId, templates);
    const byId = new Map(latest.map((version) => [version.templateId, version]));
    const listed: ListedTemplate[] = templates.map((template) => ({ template, version: byId.get(template.id) }));
    return { listed, total };
  }

  /** @throws NotFoundError */
  async get(organizationId: string, id: string, version?: number): Promise<TemplateView> {
    let template = await this.require(organizationId, id);
    for (;;) {
      const wanted = version ?? template.version;
      const found = await this.templates.findVersion(organizationId, id, wanted);
      if (found) return { template, version: found };
      // The latest may have left its room to a newer one meanwhile.
      if (version === undefined) template = await this.require(organizationId, id);
      if (template.version === wanted || version !== undefined) throw new NotFoundError('Version');
    }
  }

  /** Newest first. @throws NotFoundError */
  async versions(organizationId: string, id: string): Promise<ListedVersion[]> {
    await this.require(organizationId, id);
    return this.templates.listVersions(organizationId, id);
  }

  /**
   * Creates a new version, which is used from now on; older ones that it leaves no room for are removed.
   * @throws NotFoundError, and as `create`
   */
  async change(author: TemplateAuthor, id: string, change: TemplateChange): Promise<TemplateView> {
    const { organizationId } = author;
    if (Object.values(change).every((value) => value === undefined)) throw nothingToChange();
    for (;;) {
      const { template, version } = await this.get(organizationId, id);
      // Outside the transaction, which must not wait for a rendering thread.
      const parts = await this.checked(organizationId, { ...partsOf(version), ...partsOf(change) });
      const name = change.name ?? template.name;
      const made = await this.write({ organizationId, ...parts }, name, (tx) =>
        this.addVersion(author, { ...template, name }, parts, tx),
      );
      // One of several concurrent changes succeeds; the others start again from its result.
      if (made) return made;
    }
  }

  /** Undefined when the template has changed since it was read. @throws NotFoundError */
  private async addVersion(
    author: TemplateAuthor,
    read: Template,
    parts: CheckedParts,
    tx: Transaction,
  ): Promise<TemplateView | undefined> {
    const { organizationId, id } = read;
    const total = await this.templates.totalBytes(organizationId, tx);
    const locked = await this.templates.lock(organizationId, id, tx);
    if (!locked) throw new NotFoundError('Template');
    if (locked.version !== read.version) return undefined;
    const room = TOTAL_BYTES - (total - locked.storedBytes);
    if (bytesOf(parts) > room) throw tooLarge();
    const now = this.clock.now();
    const number = read.version + 1;
    const version = { organizationId, templateId: id, version: number, createdAt: now, ...parts };
    await this.templates.insertVersion(version, tx);
    const { surplus, storedBytes } = keptOf(await this.templates.listSizes(organizationId, id, tx), room);
    await this.templates.deleteVersions(organizationId, id, surplus, tx);
    const template = { ...read, version: number, updatedAt: now, storedBytes };
    await this.templates.update(template, tx);
    await this.record(author, 'template.changed', template, tx);
    return { template, version };
  }

  /** Deletes a template with all versions; emails rendered from it stay as they are. @throws NotFoundError */
  async remove(author: TemplateAuthor, id: string): Promise<void> {
    const { organizationId } = author;
    await this.database.transaction(async (tx) => {
      const template = await this.templates.lock(organizationId, id, tx);
      if (!template) throw new NotFoundError('Template');
      await this.templates.delete(organizationId, id, tx);
      await this.record(author, 'template.deleted', template, tx);
    });
  }

  /** Renders a template without sending an email. @throws NotFoundError, AppError template_render_failed */
  async preview(organizationId: string, id: string, use: TemplateUse): Promise<RenderedTemplate> {
    await this.get(organizationId, id, use.version);
    return this.renderer.render(organizationId, { ...use, id });
  }

  /** The names among `names` that the organization uses already. */
  existing(organizationId: string, names: readonly string[]): Promise<string[]> {
    return this.templates.namesAmong(organizationId, names);
  }

  private async require(organizationId: string, id: string): Promise<Template> {
    const template = await this.templates.find(organizationId, id);
    if (!template) throw new NotFoundError('Template');
    return template;
  }

  private async checked(
    organizationId: string,
    { subject = '', html, text }: Omit<TemplateChange, 'name'>,
  ): Promise<CheckedParts> {
    if (!html && !text) throw new ValidationError({ html: ['html or text must be given'] });
    const source = { subject, html: html || undefined, text: text || undefined };
    const variables = await this.renderer.check(organizationId, source);
    return { subject, html: html || null, text: text || null, variables: [...variables] };
  }

  /** @throws DiskShareError, UnavailableError */
  private async write<T>(
    { organizationId: holder, ...parts }: Pick<TemplateVersion, 'organizationId' | 'subject' | 'html' | 'text'>,
    name: string,
    work: (tx: Transaction) => Promise<T>,
  ): Promise<T> {
    const bytes = bytesOf(parts);
    try {
      return await this.disk.take({ bytes, holder }, () => this.database.transaction(work));
    } catch (error) {
      if (violatedConstraint(error) !== 'templates_name') throw error;
      throw new AppError('template_already_exists', `The organization has a template ${name} already`);
    }
  }

  private async record(
    { organizationId, actor }: TemplateAuthor,
    action: string,
    { id: targetId, name, version }: Template,
    tx: Transaction,
  ): Promise<void> {
    // Only live keys change templates.
    const data = { mode: 'live', name, version };
    await this.audit.record([{ organizationId, actor, action, targetType: 'template', targetId, data }], tx);
  }
}

interface Kept {
  /** The newest version that is one too many; 0 when all may stay. */
  readonly surplus: number;
  /** Of those that stay. */
  readonly storedBytes: number;
}

/** @param room for all of its versions */
function keptOf(newestFirst: readonly { version: number; bytes: number }[], room: number): Kept {
  const limit = Math.min(KEPT_BYTES, room);
  let storedBytes = 0;
  for (const [at, { version, bytes }] of newestFirst.entries()) {
    if (at >= KEPT_VERSIONS || storedBytes + bytes > limit) return { surplus: version, storedBytes };
    storedBytes += bytes;
  }
  return { surplus: 0, storedBytes };
}

function bytesOf({ subject, html, text }: Pick<TemplateVersion, 'subject' | 'html' | 'text'>): number {
  return [subject, html, text].reduce((sum, part) => sum + Buffer.byteLength(part ?? ''), 0);
}

/** The parts that are set. */
function partsOf({
  subject,
  html,
  text,
}: Omit<TemplateChange, 'name'> | TemplateVersion): Omit<TemplateChange, 'name'> {
  return {
    ...(subject !== undefined && { subject }),
    ...(typeof html === 'string' && { html }),
    ...(typeof text === 'string' && { text }),
  };
}

function tooMany(): AppError {
  return new AppError('template_limit_reached', `An organization has at most ${MAX_TEMPLATES} templates`);
}

function tooLarge(): AppError {
  const most = TOTAL_BYTES / 1024 / 1024;
  return new AppError(
    'template_limit_reached',
    `The templates of an organization hold at most ${most} MiB; delete some`,
  );
}

function nothingToChange(): ValidationError {
  return new ValidationError({ body: ['body must hold name, subject, html or text'] });
}

export type { ListedVersion, RenderedTemplate, TemplateUse };
