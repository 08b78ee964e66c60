import type * as Liquidjs from 'liquidjs';

/** The parts of a template, or of its rendered result. */
export interface TemplateParts {
  readonly subject: string;
  readonly html: string | undefined;
  readonly text: string | undefined;
}

/** A template that never changes: the parsed sources are cached under its key. */
export interface StoredTemplate extends TemplateParts {
  readonly organizationId: string;
  /** Identifies one version of one template. */
  readonly key: string;
}

/** An error in a template. Lines and columns count from 1. */
export interface TemplateProblem {
  readonly field: keyof TemplateParts;
  readonly message: string;
  readonly line: number;
  readonly column: number;
}

/** The variables of a template, or why it is invalid. */
export type CheckResult =
  | { readonly kind: 'valid'; readonly variables: readonly string[] }
  | { readonly kind: 'invalid'; readonly problems: readonly TemplateProblem[] };

/** `missing`: variables that the template uses and that were not given; `failed`: any other problem, as a message. */
export type RenderResult =
  | ({ readonly kind: 'rendered' } & TemplateParts)
  | { readonly kind: 'missing'; readonly names: readonly string[] }
  | { readonly kind: 'failed'; readonly field: keyof TemplateParts; readonly message: string };

type Parsed = ReturnType<Liquidjs.Liquid['parse']>;
type Field = keyof TemplateParts;
type Fault = Error & { errors?: Fault[]; originalError?: Fault; variableName?: string; token?: Liquidjs.Token };

/**
 * Parses and renders templates with Liquid. Values are escaped in html; a variable that is not given is an error unless the
 * template handles its absence (`if`, `default`). No template reaches a file or another template.
 *
 * Threads run its source text (`render-thread.ts`), so it must not refer to anything outside itself except types. Terminating
 * the thread covers what its limits miss.
 */
export class TemplateEngine {
  static readonly FIELDS = ['subject', 'html', 'text'] as const;
  /** CPU time, without waiting for a processor. */
  static readonly RENDER_MS = 100;
  /** Bytes of all parts of one result. */
  static readonly MAX_OUTPUT = 1024 * 1024;
  /**
   * Characters and elements that filters, ranges and captures may create. An element takes up to 100 bytes, and all of them must fit
   * into the memory of the thread however fast they are made: running out of it can end the whole process.
   */
  static readonly MEMORY = 2_000_000;
  static readonly MAX_NAMED = 50;
  /** Variables of one part of a template, and characters of all their names: lists show those of up to 200 versions. */
  static readonly MAX_VARIABLES = 500;
  static readonly MAX_NAMES_LENGTH = 8_000;
  static readonly MAX_VARIABLE_LENGTH = 200;
  /** Size of the cache of parsed sources: organizations, and characters of source for each. */
  static readonly CACHED_ORGANIZATIONS = 64;
  static readonly CACHED_CHARACTERS = 512 * 1024;

  private readonly markup: Liquidjs.Liquid;
  private readonly plain: Liquidjs.Liquid;
  private readonly parsed = new Map<string, Map<string, { size: number; parts: Map<Field, Parsed> }>>();

  /**
   * @param cpuMs CPU time of this thread: the load of others must not end a rendering
   * @param adapt changes what the library does otherwise than needed here (`adaptLiquid`)
   */
  constructor(
    private readonly library: typeof Liquidjs,
    private readonly cpuMs: () => number,
    private readonly adapt: (liquid: Liquidjs.Liquid, toText: (value: unknown) => string) => void,
  ) {
    this.markup = this.createLiquid({ outputEscape: 'escape' });
    this.plain = this.createLiquid({});
    this.registerMarkupFilters();
  }

  check(source: TemplateParts): CheckResult {
    const problems: TemplateProblem[] = [];
    const variables = new Set<string>();
    for (const field of TemplateEngine.FIELDS) {
      try {
        const names = this.plain.globalFullVariablesSync(this.parse(field, source[field] ?? ''));
        const message = this.faultOf(names);
        if (message !== undefined) problems.push({ field, message, line: 1, column: 1 });
        names.forEach((name) => variables.add(name));
      } catch (error) {
        problems.push(...this.problemsOf(field, error as Fault));
      }
    }
    return problems.length > 0 ? { kind: 'invalid', problems } : { kind: 'valid', variables: [...variables].sort() };
  }

  /** @param variables JSON of an object */
  render(template: StoredTemplate, variables: string): RenderResult {
    const values = JSON.parse(variables) as Record<string, unknown>;
    const budget = { left: TemplateEngine.MAX_OUTPUT, check: this.startTimer() };
    const result: Partial<Record<Field, string>> = {};
    const missing = new Set<string>();
    for (const field of TemplateEngine.FIELDS) {
      if (template[field] === undefined) continue;
      try {
        result[field] = this.renderField(field, template, values, budget);
      } catch (error) {
        const names = this.namesOf(error as Fault);
        if (names.length === 0) return { kind: 'failed', field, message: this.reasonOf(error as Fault) };
        for (const name of names) missing.add(name);
      }
    }
    if (missing.size > 0) return { kind: 'missing', names: this.inShort([...missing]) };
    return { kind: 'rendered', subject: this.oneLine(result.subject ?? ''), html: result.html, text: result.text };
  }

  private renderField(
    field: Field,
    template: StoredTemplate,
    values: Record<string, unknown>,
    budget: { left: number; readonly check: () => void },
  ): string {
    const parsed = this.parsedPart(field, template);
    let output = '';
    const emitter = {
      write: (value: unknown) => {
        const text = this.stringify(value);
        budget.left -= Buffer.byteLength(text);
        if (budget.left < 0) throw new Error(`more than ${TemplateEngine.MAX_OUTPUT} bytes come out`);
        output += text;
      },
    };
    const liquid = field === 'html' ? this.markup : this.plain;
    const context = new this.library.Context(
      values,
      liquid.options,
      { sync: true, memoryLimit: TemplateEngine.MEMORY },
      { renderLimit: budget as never },
    );
    this.library.toValueSync(liquid.renderer.renderTemplates(parsed, context, emitter as Liquidjs.Emitter));
    return this.storable(output);
  }

  /** Returns a function that throws once RENDER_MS of CPU time are used up; on a busy machine, elapsed time would include waiting. */
  private startTimer(): () => void {
    const began = performance.now();
    const before = this.cpuMs();
    return () => {
      if (performance.now() - began <= TemplateEngine.RENDER_MS) return;
      if (this.cpuMs() - before > TemplateEngine.RENDER_MS) {
        throw new Error(`it takes more than ${TemplateEngine.RENDER_MS} ms`);
      }
    };
  }

  private createLiquid(options: { outputEscape?: 'escape' }): Liquidjs.Liquid {
    const liquid = new this.library.Liquid({
      ...{ ...options, strictVariables: true, strictFilters: true },
      lenientIf: true,
      ownPropertyOnly: true,
      // Names all missing variables, not only the first.
      catchAllErrors: true,
      relativeReference: false,
      templates: {},
      parseLimit: 2 * TemplateEngine.MAX_OUTPUT,
      timezoneOffset: 0,
      locale: 'en-US',
    });
    for (const tag of ['include', 'render', 'layout', 'block']) delete liquid.tags[tag];
    this.adapt(liquid, (value) => this.stringify(value));
    return liquid;
  }

  /** Registers filters whose result is markup: as the last filter, their result is not escaped again. */
  private registerMarkupFilters(): void {
    const { escape, escape_once: escapeOnce, newline_to_br: breakLines } = this.library.filters;
    type Handler = (this: unknown, value: unknown) => unknown;
    this.markup.registerFilter('escape', { raw: true, handler: escape as Handler });
    this.markup.registerFilter('escape_once', { raw: true, handler: escapeOnce as Handler });
    this.markup.registerFilter('newline_to_br', {
      raw: true,
      handler(value: unknown) {
        return (breakLines as Handler).call(this, (escapeOnce as Handler).call(this, value));
      },
    });
  }

  private parse(field: Field, source: string): Parsed {
    return (field === 'html' ? this.markup : this.plain).parse(source);
  }

  /** The parsed part, cached. Evicts the organization's least recently used sources first, then another organization. */
  private parsedPart(field: Field, template: StoredTemplate): Parsed {
    const { organizationId, key } = template;
    const own = this.parsed.get(organizationId) ?? new Map<string, { size: number; parts: Map<Field, Parsed> }>();
    this.parsed.delete(organizationId);
    this.parsed.set(organizationId, own);
    const known = own.get(key) ?? { size: this.sizeOf(template), parts: new Map<Field, Parsed>() };
    own.delete(key);
    if (known.size <= TemplateEngine.CACHED_CHARACTERS) own.set(key, known);
    this.dropOldest(own);
    const parsed = known.parts.get(field) ?? this.parse(field, template[field] ?? '');
    known.parts.set(field, parsed);
    return parsed;
  }

  private dropOldest(own: Map<string, { size: number }>): void {
    let size = 0;
    for (const entry of own.values()) size += entry.size;
    for (const [key, entry] of own) {
      if (size <= TemplateEngine.CACHED_CHARACTERS) break;
      own.delete(key);
      size -= entry.size;
    }
    for (const organizationId of this.parsed.keys()) {
      if (this.parsed.size <= TemplateEngine.CACHED_ORGANIZATIONS) break;
      this.parsed.delete(organizationId);
    }
  }

  private sizeOf({ subject, html = '', text = '' }: TemplateParts): number {
    return subject.length + html.length + text.length;
  }

  private problemsOf(field: Field, fault: Fault): TemplateProblem[] {
    return (fault.errors ?? [fault]).map((each) => {
      const [line = 1, column = 1] = each.token?.getPosition() ?? [];
      return { field, message: this.reasonOf(each), line, column };
    });
  }

  /** The missing variables, if they are the only cause of a failure; empty when there is another one. */
  private namesOf(fault: Fault): string[] {
    if (fault.errors) {
      const names = fault.errors.map((each) => this.namesOf(each));
      return names.some((each) => each.length === 0) ? [] : names.flat();
    }
    if (fault.variableName !== undefined) return [fault.variableName];
    const names = fault.originalError ? this.namesOf(fault.originalError) : [];
    return names.map((name) => this.asWritten(name, fault.token?.getText() ?? ''));
  }

  /** Without `order`, `{{ order.number }}` needs `order.number`: the name in the template's list of variables. */
  private asWritten(name: string, expression: string): string {
    // A look-up by a long text (`a[b]`): too large for an expression.
    if (name.length > TemplateEngine.MAX_VARIABLE_LENGTH) return name;
    const literal = name.replace(/[^\w]/g, '\\$&');
    return new RegExp(`(?<![\\w.-])${literal}(?:\\.[a-zA-Z_][\\w-]*)*`).exec(expression)?.[0] ?? name;
  }

  private faultOf(names: readonly string[]): string | undefined {
    const { MAX_VARIABLES, MAX_VARIABLE_LENGTH, MAX_NAMES_LENGTH } = TemplateEngine;
    if (names.length > MAX_VARIABLES) return `it uses more than ${MAX_VARIABLES} variables`;
    if (names.some((name) => name.length > MAX_VARIABLE_LENGTH)) {
      return `it uses a variable whose name is longer than ${MAX_VARIABLE_LENGTH} characters`;
    }
    if (names.join('').length > MAX_NAMES_LENGTH) return `its variables have more than ${MAX_NAMES_LENGTH} characters`;
    // By an escape in a literal, `{{ ["\u0000"] }}`; no request could give it.
    return names.some((name) => this.storable(name) !== name)
      ? 'it uses a variable whose name has a NUL character or half of a surrogate pair'
      : undefined;
  }

  /** Shortens names: templates of earlier releases may have longer ones. */
  private inShort(names: readonly string[]): string[] {
    const { MAX_NAMED, MAX_VARIABLE_LENGTH } = TemplateEngine;
    return names.slice(0, MAX_NAMED).map((name) => this.storable(name.slice(0, MAX_VARIABLE_LENGTH)));
  }

  private reasonOf(fault: Fault): string {
    const others = fault.errors?.filter((each) => this.namesOf(each).length === 0);
    const first = others?.[0];
    if (first) return this.reasonOf(first);
    if (fault.message.startsWith('memory alloc limit')) return 'it creates too much text: shorten its loops and texts';
    if (fault.message.startsWith('Maximum call stack')) return 'it is nested too deeply';
    // Removes the position that the library appends to the message.
    return this.storable(fault.message.replace(/, line:\d+, col:\d+$/, '').slice(0, 200));
  }

  /** Replaces characters that text in the database or in mail must not contain; filters that decode or cut can produce them. */
  private storable(text: string): string {
    return (text as string & { toWellFormed(): string }).toWellFormed().replaceAll('\0', '');
  }

  /** A header field must be one line, whatever the values contain. */
  private oneLine(text: string): string {
    return text.replace(/[\s\u0000-\u001f\u007f\u2028\u2029]+/g, ' ').trim();
  }

  private stringify(value: unknown): string {
    if (typeof value === 'string') return value;
    if (value === null || value === undefined) return '';
    if (Array.isArray(value)) return value.map((each) => this.stringify(each)).join('');
    return typeof value === 'object' ? '[object Object]' : `${value as string}`;
  }
}
