import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { MicroBatcher } from '../../common/async/micro-batcher';
import { AppError, type FieldErrors } from '../../common/errors/app-error';
import { Metrics } from '../../common/metrics/metrics';
import { withinTenants } from '../../common/tenant';
import { RenderThreads } from './rendering/render-threads';
import { type RenderResult, TemplateEngine, type TemplateParts } from './rendering/template-engine';
import { KEPT_VERSIONS, type Template, type TemplateVersion } from './template.entity';
import { type TemplateKey, TemplatesRepository, type WantedTemplate } from './templates.repository';

export const TEMPLATE_NAME = /^[a-z0-9-]{1,64}$/;
/** The largest value of the column, a signed integer of 32 bits. */
export const MAX_VERSION = 2_147_483_647;
export const MAX_VARIABLES_BYTES = 256 * 1024;

/** A template, its version, and the variables for it. */
export interface TemplateUse extends TemplateKey {
  /** The latest version when undefined. */
  readonly version?: number | undefined;
  /** JSON of an object. */
  readonly variables: string;
}

/** The rendered parts of a template. */
export interface RenderedTemplate extends TemplateParts {
  readonly version: number;
}

const MAX_SUBJECT = 998;
/** Size of the cache of versions: organizations, and characters for each. */
const CACHED_ORGANIZATIONS = 32;
const CACHED_CHARACTERS = 1024 * 1024;
/** Of the connections to the database; a batch of emails may name a hundred templates. */
const QUERIES = { maxWeight: 200, concurrency: 2 };

/** Checks and renders stored templates, in threads. Versions never change, so they are cached. */
@Injectable()
export class TemplateRenderer implements OnModuleDestroy {
  private readonly threads: RenderThreads;
  private readonly versions = new LRUCache<string, LRUCache<string, TemplateVersion>>({ max: CACHED_ORGANIZATIONS });
  /** Look-ups that come together share queries, organizations in rotation. */
  private readonly lookUps = new MicroBatcher<WantedTemplate, Template | undefined>((wanted) => this.findAll(wanted), {
    ...QUERIES,
    holderOf: ({ organizationId }) => organizationId,
  });

  constructor(
    private readonly templates: TemplatesRepository,
    metrics: Metrics,
  ) {
    this.threads = new RenderThreads(metrics);
  }

  onModuleDestroy(): Promise<void> {
    return this.threads.close();
  }

  /** The names of the variables that a template uses. @throws AppError invalid_request, with the positions of the errors */
  async check(organizationId: string, source: TemplateParts): Promise<readonly string[]> {
    const result = await this.threads.check(organizationId, source);
    if (result?.kind === 'valid') return result.variables;
    const tooLong = { field: 'html' as const, message: 'it takes too long to be read', line: 1, column: 1 };
    const problems = result?.problems ?? [tooLong];
    const validation: FieldErrors = {};
    for (const { field, message, line, column } of problems) {
      (validation[field] ??= []).push(`${field} has an error in line ${line}, column ${column}: ${message}`);
    }
    throw new AppError('invalid_request', 'Request validation failed', { details: { validation, problems } });
  }

  /** The template that is to be rendered. Those of many emails are looked up together. @throws UnavailableError */
  lookUp(organizationId: string, { id, name }: TemplateKey): Promise<Template | undefined> {
    return this.lookUps.add({ organizationId, id, name });
  }

  /**
   * @param path prefix of field paths in errors: `template.`, or empty
   * @param lookUp of this template, where it has begun before
   * @throws AppError template_not_found, template_render_failed; UnavailableError
   */
  async render(
    organizationId: string,
    use: TemplateUse,
    path = '',
    lookUp = this.lookUp(organizationId, use),
  ): Promise<RenderedTemplate> {
    const { template, version, content } = await this.findContent(organizationId, use, path, await lookUp);
    const source = { organizationId, key: `${template.id} ${version}`, subject: content.subject };
    const parts = { html: content.html ?? undefined, text: content.text ?? undefined };
    const result = await this.threads.render({ ...source, ...parts }, use.variables);
    return { ...requireRendered(result, path), version };
  }

  private async findContent(organizationId: string, use: TemplateUse, path: string, found: Template | undefined) {
    for (let template = found; ;) {
      if (!template) throw notFound(`${path}${use.id === undefined ? 'name' : 'id'}`, 'names no template');
      const version = use.version ?? template.version;
      const content = await this.findVersion(template, version);
      if (content) return { template, version, content };
      // The latest one may have left its room to a newer one since it was looked up.
      const latest = use.version === undefined ? await this.lookUp(organizationId, use) : template;
      if (latest?.version === template.version) throw notFound(`${path}version`, 'names no version of the template');
      template = latest;
    }
  }

  private findAll(wanted: readonly WantedTemplate[]): Promise<(Template | undefined)[]> {
    const organizationIds = wanted.map(({ organizationId }) => organizationId);
    return withinTenants(organizationIds, () => this.templates.findAll(wanted));
  }

  private async findVersion(
    { organizationId, id, version: latest }: Template,
    version: number,
  ): Promise<TemplateVersion | null> {
    const key = `${id} ${version}`;
    const known = this.versions.get(organizationId)?.get(key);
    if (known) return known;
    // The number of the latest is known, and how many are kept: a batch may name a hundred others.
    if (version > latest || version <= latest - KEPT_VERSIONS) return null;
    const found = await withinTenants([organizationId], () => this.templates.findVersion(organizationId, id, version));
    if (found) this.keep(organizationId, key, found);
    return found;
  }

  private keep(organizationId: string, key: string, version: TemplateVersion): void {
    const own = this.versions.get(organizationId) ?? new LRUCache({ maxSize: CACHED_CHARACTERS });
    own.set(key, version, { size: version.subject.length + (version.html ?? '').length + (version.text ?? '').length });
    this.versions.set(organizationId, own);
  }
}

function requireRendered(result: RenderResult | undefined, path: string): TemplateParts {
  if (!result) throw failed({}, `The template cannot be rendered: it takes more than ${TemplateEngine.RENDER_MS} ms`);
  if (result.kind === 'missing') throw missing(result.names, path);
  if (result.kind === 'failed') {
    const { field, message } = result;
    throw failed({ [field]: [`${field} of the template: ${message}`] }, `The template cannot be rendered: ${message}`);
  }
  return requireContent(result);
}

function requireContent({ subject, html, text }: TemplateParts): TemplateParts {
  if (subject === '' || isLonger(subject, MAX_SUBJECT)) {
    throw failed({ subject: [`subject must render to 1 to ${MAX_SUBJECT} characters`] });
  }
  if (!html?.trim() && !text?.trim()) throw failed({ html: ['html or text must render to something'] });
  return { subject, html: html || undefined, text: text || undefined };
}

/** Whether a text has more characters (code points); a long one is not taken apart. */
function isLonger(text: string, max: number): boolean {
  return text.length > 2 * max || (text.length > max && [...text].length > max);
}

function missing(names: readonly string[], path: string): AppError {
  const validation = names.map((name) => {
    const variable = `${path}variables.${name}`;
    const advice = `write {{ ${name} | default: "" }} or {% if ${name} %} in the template`;
    return [variable, [`${variable} is missing; give it, or ${advice}`]];
  });
  return failed(Object.fromEntries(validation) as FieldErrors, 'Variables of the template are missing');
}

function failed(validation: FieldErrors, message = 'The template cannot be rendered'): AppError {
  return new AppError('template_render_failed', message, { details: { validation } });
}

function notFound(field: string, problem: string): AppError {
  return new AppError('template_not_found', `No such template: ${field} ${problem}`, {
    details: { validation: { [field]: [`${field} ${problem}`] } },
    suggestion: 'GET /v1/templates lists the templates of the organization',
  });
}
