import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Any, type FindOptionsWhere, In, LessThanOrEqual, Raw, type Repository } from 'typeorm';
import type { NamedSlice } from '../../common/ids';
import { lockList } from '../../database/statements/locks.sql';
import type { Transaction } from '../../database/statements/transaction';
import { totalTemplateBytes } from './sql/stored-bytes.sql';
import { Template, TemplateVersion } from './template.entity';

/** Identifies a template by id or name; the latest version unless one is given. */
export interface TemplateKey {
  readonly id?: string | undefined;
  readonly name?: string | undefined;
}

/** A template that is looked up together with others'. */
export interface WantedTemplate extends TemplateKey {
  readonly organizationId: string;
}

/** A page of a list by name, of those whose name has the text in it. */
export interface TemplateSlice extends NamedSlice {
  readonly text?: string | undefined;
}

/** A version without its bodies. */
export type ListedVersion = Pick<TemplateVersion, 'version' | 'subject' | 'variables' | 'createdAt'> & {
  readonly templateId: string;
};

const LISTED = { templateId: true, version: true, subject: true, variables: true, createdAt: true } as const;

/** Templates and their versions. All methods throw UnavailableError. */
@Injectable()
export class TemplatesRepository {
  constructor(
    @InjectRepository(Template) private readonly templates: Repository<Template>,
    @InjectRepository(TemplateVersion) private readonly versions: Repository<TemplateVersion>,
  ) {}

  find(organizationId: string, id: string): Promise<Template | null> {
    return this.templates.findOneBy({ organizationId, id });
  }

  /** Templates of several organizations in one query: the result for each. */
  async findAll(wanted: readonly WantedTemplate[]): Promise<(Template | undefined)[]> {
    const owners = new Set(wanted.map(({ organizationId }) => organizationId));
    const where = [...owners].flatMap((organizationId) => {
      const own = wanted.filter((one) => one.organizationId === organizationId);
      const ids = own.flatMap(({ id }) => id ?? []);
      const names = own.flatMap(({ id, name }) => (id === undefined ? (name ?? []) : []));
      return [
        ...(ids.length > 0 ? [{ organizationId, id: Any(ids) }] : []),
        ...(names.length > 0 ? [{ organizationId, name: Any(names) }] : []),
      ];
    });
    const found = where.length > 0 ? await this.templates.findBy(where) : [];
    const byKey = new Map(found.flatMap((template) => keysOf(template).map((key) => [key, template])));
    // A name may look like an id.
    return wanted.map((one) => byKey.get(keysOf(one)[one.id === undefined ? 1 : 0]));
  }

  findVersion(organizationId: string, templateId: string, version: number): Promise<TemplateVersion | null> {
    return this.versions.findOneBy({ organizationId, templateId, version });
  }

  /** In the order of names, with the total number, which counts those before `after` too. */
  async page(organizationId: string, { text, after, skip, take }: TemplateSlice): Promise<[Template[], number]> {
    const order = { name: 'ASC' } as const;
    const where = { organizationId, ...named({ text }) };
    if (after === undefined) return this.templates.findAndCount({ where, order, skip, take });
    const following = { organizationId, ...named({ text, after }) };
    const found = await this.templates.find({ where: following, order, skip, take });
    return [found, await this.templates.countBy(where)];
  }

  async latest(organizationId: string, templates: readonly Template[]): Promise<ListedVersion[]> {
    if (templates.length === 0) return [];
    const where = templates.map(({ id: templateId, version }) => ({ organizationId, templateId, version }));
    return this.versions.find({ select: LISTED, where });
  }

  listVersions(organizationId: string, templateId: string): Promise<ListedVersion[]> {
    return this.versions.find({
      select: LISTED,
      where: { organizationId, templateId },
      order: { version: 'DESC' },
    });
  }

  /** What is stored of all templates; other additions and changes wait until the transaction ends. */
  async totalBytes(organizationId: string, tx: Transaction): Promise<number> {
    await tx.run(lockList(`templates of ${organizationId}`));
    const [total] = await tx.run(totalTemplateBytes(organizationId));
    return total?.bytes ?? 0;
  }

  /** To be called after `totalBytes`. */
  count(organizationId: string, tx: Transaction): Promise<number> {
    return tx.manager.countBy(Template, { organizationId });
  }

  /** The names among `names` that are in use. */
  async namesAmong(organizationId: string, names: readonly string[]): Promise<string[]> {
    const found = await this.templates.findBy({ organizationId, name: In(names) });
    return found.map(({ name }) => name);
  }

  /** Locks the template against other changes until the transaction ends. */
  lock(organizationId: string, id: string, tx: Transaction): Promise<Template | null> {
    return tx.manager.findOne(Template, { where: { organizationId, id }, lock: { mode: 'pessimistic_write' } });
  }

  async insert(template: Template, tx: Transaction): Promise<void> {
    await tx.manager.insert(Template, template);
  }

  async update({ organizationId, id, ...values }: Template, tx: Transaction): Promise<void> {
    await tx.manager.update(Template, { organizationId, id }, values);
  }

  async insertVersion(version: TemplateVersion, tx: Transaction): Promise<void> {
    await tx.manager.insert(TemplateVersion, version);
  }

  /** The bytes of each version's texts, newest first. */
  listSizes(
    organizationId: string,
    templateId: string,
    tx: Transaction,
  ): Promise<{ version: number; bytes: number }[]> {
    const length = (part: string) => `coalesce(octet_length(v.${part}), 0)`;
    return tx.manager
      .createQueryBuilder(TemplateVersion, 'v')
      .select('v.version', 'version')
      .addSelect(['subject', 'html', 'text'].map(length).join(' + '), 'bytes')
      .where({ organizationId, templateId })
      .orderBy('v.version', 'DESC')
      .getRawMany();
  }

  /** Removes versions up to and including this one. */
  async deleteVersions(organizationId: string, templateId: string, upTo: number, tx: Transaction): Promise<void> {
    await tx.manager.delete(TemplateVersion, { organizationId, templateId, version: LessThanOrEqual(upTo) });
  }

  async delete(organizationId: string, id: string, tx: Transaction): Promise<void> {
    await tx.manager.delete(TemplateVersion, { organizationId, templateId: id });
    await tx.manager.delete(Template, { organizationId, id });
  }
}

/** Names have no capital letters. An organization has 1,000 templates, so that its part of the index is read for a text in them. */
function named({ text, after }: { text?: string | undefined; after?: string }): FindOptionsWhere<Template> {
  if (text === undefined && after === undefined) return {};
  const holds = (name: string) => [
    ...(text === undefined ? [] : [`position(:text in ${name}) > 0`]),
    ...(after === undefined ? [] : [`${name} > :after`]),
  ];
  return { name: Raw((name) => holds(name).join(' and '), { text: text?.toLowerCase(), after }) };
}

/** By its id, by its name. */
function keysOf({ organizationId, id, name }: WantedTemplate): [string, string] {
  return [`${organizationId} id ${id}`, `${organizationId} name ${name}`];
}
