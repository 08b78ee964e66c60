import type { ListedVersion, RenderedTemplate, TemplateView } from '../templates.service';
import type { RenderedTemplateDto, TemplateDto, TemplateListItemDto, TemplateVersionDto } from './template.dto';

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
