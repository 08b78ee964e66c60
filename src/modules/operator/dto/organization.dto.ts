import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, IsInt, IsOptional, IsString, Length, Max, Min } from 'class-validator';
import { Nullable, QueryInteger } from '../../../common/http/dto-decorators';
import type { UsedOrganization } from '../operator-organizations.service';

const STATUSES = ['active', 'suspended'] as const;
type Status = (typeof STATUSES)[number];
const MAX_MONTHLY = 2_000_000_000;
const NAME_FIELD = { minLength: 1, maxLength: 200, example: 'Acme' };

export class ListOrganizationsQuery {
  @ApiPropertyOptional({ type: 'integer', minimum: 1, default: 1 }) @QueryInteger(1, 1_000_000) page: number = 1;

  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: 100, default: 50 }) @QueryInteger(1, 100) limit: number =
    50;

  @ApiPropertyOptional({ maxLength: 200, description: 'A part of the name, or the id' })
  @IsOptional()
  @IsString()
  @Length(1, 200)
  q?: string;

  @ApiPropertyOptional({ enum: STATUSES }) @IsOptional() @IsIn(STATUSES) status?: Status;
}

export class CreateOrganizationDto {
  @ApiProperty(NAME_FIELD) @IsString() @Length(1, 200) name!: string;
}

export class ChangeOrganizationDto {
  @ApiPropertyOptional(NAME_FIELD) @IsOptional() @IsString() @Length(1, 200) name?: string;

  @ApiPropertyOptional({
    enum: STATUSES,
    description: '`suspended`: its keys are refused; mail already accepted is still delivered',
  })
  @IsOptional()
  @IsIn(STATUSES)
  status?: Status;

  @ApiPropertyOptional({
    type: 'integer',
    minimum: 1,
    maximum: 100,
    description: 'Its share of the deliveries beside other organizations with ready mail',
  })
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(100)
  weight?: number;

  @ApiPropertyOptional({
    type: 'integer',
    nullable: true,
    minimum: 0,
    description: 'Recipients of live mail in a month (UTC); sends over it get a 429. `null`: as many as it likes',
  })
  @Nullable()
  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(MAX_MONTHLY)
  monthlyRecipients?: number | null;
}

class UsageDto {
  @ApiProperty({ type: 'integer', description: 'Recipients of live mail on this UTC day' }) today!: number;
  @ApiProperty({ type: 'integer', description: 'The same in this UTC month' }) month!: number;
}

export class OrganizationDto {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty() name!: string;
  @ApiProperty({ enum: STATUSES }) status!: Status;
  @ApiProperty({ type: 'integer' }) weight!: number;
  @ApiProperty({ type: 'integer', nullable: true, description: 'null: without a limit' })
  monthlyRecipients!: number | null;
  @ApiProperty({ format: 'date-time' }) createdAt!: string;
  @ApiProperty() usage!: UsageDto;
}

export function toOrganizationDto({ createdAt, ...organization }: UsedOrganization): OrganizationDto {
  return { ...organization, createdAt: createdAt.toISOString() };
}
