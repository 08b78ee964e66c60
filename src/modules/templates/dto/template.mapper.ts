import { ValidationError } from '../../../common/errors/app-error';
import { MAX_VARIABLES_BYTES, type TemplateUse } from '../template-renderer.service';
import type { ListedVersion, RenderedTemplate, TemplateView } from '../templates.service';
import type {
  RenderedTemplateDto,
  RenderTemplateDto,
  TemplateDto,
  TemplateListItemDto,
  TemplateVersionDto,
} from './template.dto';

export function toListItem({ template, version }: TemplateView<ListedVersion>): TemplateListItemDto {
  return {
    id: template.id,
    name: template.name,
    subject: version.subject,
    version: version.version,
    variables: version.variables,
    createdAt: template.createdAt.toISOString(),
    updatedAt: template.updatedAt.toISOString(),
  };
}

export function toTemplateDto(view: TemplateView): TemplateDto {
  const { html, text } = view.version;
  return { ...toListItem(view), ...(html !== null && { html }), ...(text !== null && { text }) };
}

export function toVersionDto({ version, subject, variables, createdAt }: ListedVersion): TemplateVersionDto {
  return { version, subject, variables, createdAt: createdAt.toISOString() };
}

export function toRenderedDto({ version, subject, html, text }: RenderedTemplate): RenderedTemplateDto {
  return { version, subject, ...(html !== undefined && { html }), ...(text !== undefined && { text }) };
}

/** @throws ValidationError when too much is to be filled in */
export function toTemplateUse({ variables = {}, version }: RenderTemplateDto): TemplateUse {
  const json = JSON.stringify(variables);
  if (Buffer.byteLength(json) <= MAX_VARIABLES_BYTES) return { version, variables: json };
  throw new ValidationError({ variables: [`variables must be at most ${MAX_VARIABLES_BYTES} bytes of JSON`] });
}
