import { isUuid } from '../../../common/ids';
import { isLongerThan } from '../../../common/values';
import { MAX_VARIABLES_BYTES, MAX_VERSION, TEMPLATE_NAME } from '../../templates/template-renderer.service';
import type { FieldReader } from './field-reader';
import type { TemplateReference } from './send-request';

const FIELDS = new Set(['id', 'name', 'version', 'variables']);
const IN_ITS_PLACE = ['subject', 'html', 'text'] as const;

/** Reads the template of a send request, which replaces subject, html and text. */
export function readTemplate(reader: FieldReader, given: Record<string, unknown>): TemplateReference | undefined {
  if (given.template === undefined) return undefined;
  for (const field of IN_ITS_PLACE) {
    if (given[field] !== undefined) reader.add(field, 'must be left out: the template has it');
  }
  const template = reader.object(given.template, 'template');
  if (!template) return undefined;
  reader.unknownFields(template, FIELDS, 'template');
  if ((template.id === undefined) === (template.name === undefined)) {
    reader.add('template', 'must have either an id or a name');
  }
  return {
    id: readPattern(reader, template.id, 'template.id', { test: isUuid, must: 'must be a UUID' })?.toLowerCase(),
    name: readPattern(reader, template.name, 'template.name', {
      test: (name) => TEMPLATE_NAME.test(name),
      must: 'must be 1 to 64 lower-case letters, digits and hyphens',
    }),
    version: readVersion(reader, template.version),
    variables: readVariables(reader, template.variables),
  };
}

function readPattern(
  reader: FieldReader,
  value: unknown,
  path: string,
  rule: { readonly test: (text: string) => boolean; readonly must: string },
): string | undefined {
  if (value === undefined || (typeof value === 'string' && rule.test(value))) return value;
  reader.add(path, rule.must);
  return undefined;
}

function readVersion(reader: FieldReader, value: unknown): number | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= MAX_VERSION) return value;
  reader.add('template.version', 'must be an integer from 1');
  return undefined;
}

function readVariables(reader: FieldReader, value: unknown): string {
  if (value === undefined) return '{}';
  const variables = reader.object(value, 'template.variables') ?? {};
  if (!isLongerThan(variables, MAX_VARIABLES_BYTES)) return JSON.stringify(variables);
  reader.add('template.variables', `must be at most ${MAX_VARIABLES_BYTES} bytes of JSON`);
  return '{}';
}
