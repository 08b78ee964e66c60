import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsInt, IsObject, IsOptional, IsString, Length, Matches, Max, MaxLength, Min } from 'class-validator';
import { ValidationError } from '../../../common/errors/app-error';
import { QueryInteger } from '../../../common/http/dto/dto-decorators';
import { NamedPagesQuery } from '../../../common/http/dto/envelope.dto';
import { MAX_VARIABLES_BYTES, MAX_VERSION, TEMPLATE_NAME, type TemplateUse } from '../template-renderer.service';
import type { ListedTemplate, ListedVersion, RenderedTemplate, TemplateView } from '../templates.service';

const MAX_SUBJECT = 998;
const MAX_HTML = 512 * 1024;
const MAX_TEXT = 256 * 1024;

const NAME_FIELD = { pattern: TEMPLATE_NAME.source, example: 'password-reset', description: 'Unique per organization' };
const NAME_MESSAGE = 'name must be 1 to 64 lower-case letters, digits and hyphens';
const SUBJECT_FIELD = { minLength: 1, maxLength: MAX_SUBJECT, example: 'Reset your password, {{ name }}' };
const HTML_FIELD = {
  maxLength: MAX_HTML,
  example: '<p>Hello {{ name }}, <a href="{{ link }}">choose a new password</a>.</p>',
  description: 'Liquid; values of variables are escaped. html or text must be given',
};
const TEXT_FIELD = { maxLength: MAX_TEXT, description: 'Liquid; derived from html when absent' };
const EMPTY = 'An empty value removes the part';

/** Body of `POST /v1/templates`. */
export class AddTemplateDto {
  @ApiProperty(NAME_FIELD) @IsString() @Matches(TEMPLATE_NAME, { message: NAME_MESSAGE }) name!: string;
  @ApiProperty(SUBJECT_FIELD) @IsString() @Length(1, MAX_SUBJECT) subject!: string;
  @ApiPropertyOptional(HTML_FIELD) @IsOptional() @IsString() @MaxLength(MAX_HTML) html?: string;
  @ApiPropertyOptional(TEXT_FIELD) @IsOptional() @IsString() @MaxLength(MAX_TEXT) text?: string;
}

/** Body of `PATCH /v1/templates/{id}`; absent fields stay as they are. */
export class ChangeTemplateDto {
  @ApiPropertyOptional(NAME_FIELD)
  @IsOptional()
  @IsString()
  @Matches(TEMPLATE_NAME, { message: NAME_MESSAGE })
  name?: string;

  @ApiPropertyOptional(SUBJECT_FIELD) @IsOptional() @IsString() @Length(1, MAX_SUBJECT) subject?: string;

  @ApiPropertyOptional({ ...HTML_FIELD, description: EMPTY })
  @IsOptional()
  @IsString()
  @MaxLength(MAX_HTML)
  html?: string;

  @ApiPropertyOptional({ ...TEXT_FIELD, description: EMPTY })
  @IsOptional()
  @IsString()
  @MaxLength(MAX_TEXT)
  text?: string;
}

/** Query of `GET /v1/templates`. */
export class ListTemplatesQuery extends NamedPagesQuery {
  @ApiPropertyOptional({ minLength: 1, maxLength: 64, description: 'A part of the name' })
  @IsOptional()
  @IsString()
  @Length(1, 64)
  q?: string;
}

/** Query of `GET /v1/templates/{id}`. */
export class TemplateVersionQuery {
  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: MAX_VERSION, description: 'Absent: the latest' })
  @IsOptional()
  @QueryInteger(1, MAX_VERSION)
  version?: number;
}

/** Body of `POST /v1/templates/{id}/render`. */
export class RenderTemplateDto {
  @ApiPropertyOptional({ type: 'object', additionalProperties: true, example: { name: 'Ada' } })
  @IsOptional()
  @IsObject()
  variables?: Record<string, unknown>;

  @ApiPropertyOptional({ type: 'integer', minimum: 1, description: 'Absent: the latest' })
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(MAX_VERSION)
  version?: number;
}

class TemplateBaseDto {
  @ApiProperty({ type: 'integer', minimum: 1 }) version!: number;
  @ApiProperty() subject!: string;
  @ApiProperty({ type: [String], description: 'Variables that it uses', example: ['name', 'order.number'] })
  variables!: string[];
}

/** A template with the subject and variables of its latest version. */
export class TemplateListItemDto extends TemplateBaseDto {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty({ example: 'password-reset' }) name!: string;
  @ApiProperty({ format: 'date-time' }) createdAt!: string;
  @ApiProperty({ format: 'date-time' }) updatedAt!: string;
}

/** A template with the texts of one version. */
export class TemplateDto extends TemplateListItemDto {
  @ApiPropertyOptional() html?: string;
  @ApiPropertyOptional() text?: string;
}

/** A version in the list of versions, without html and text. */
export class TemplateVersionDto extends TemplateBaseDto {
  @ApiProperty({ format: 'date-time' }) createdAt!: string;
}

/** Response of `POST /v1/templates/{id}/render`: the parts that an email would have. */
export class RenderedTemplateDto {
  @ApiProperty({ type: 'integer', minimum: 1 }) version!: number;
  @ApiProperty() subject!: string;
  @ApiPropertyOptional() html?: string;
  @ApiPropertyOptional() text?: string;
}

/** Response of `DELETE /v1/templates/{id}`. */
export class RemovedTemplateDto {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty({ enum: [true] }) deleted!: true;
}

export function toListItems(listed: readonly ListedTemplate[]): TemplateListItemDto[] {
  return listed.flatMap(({ template, version }) => (version ? [toListItem({ template, version })] : []));
}

function toListItem({ template, version }: TemplateView<ListedVersion>): TemplateListItemDto {
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

/** Leaves out html or text where the version has none. */
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

/** @throws ValidationError when the variables are too large */
export function toTemplateUse({ variables = {}, version }: RenderTemplateDto): TemplateUse {
  const json = JSON.stringify(variables);
  if (Buffer.byteLength(json) <= MAX_VARIABLES_BYTES) return { version, variables: json };
  throw new ValidationError({ variables: [`variables must be at most ${MAX_VARIABLES_BYTES} bytes of JSON`] });
}
