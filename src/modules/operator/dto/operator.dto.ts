import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, IsInt, IsOptional, IsString, IsUUID, Length, Matches, Max, Min } from 'class-validator';
import { type AuditEntry, INSTALLATION } from '../../../audit/audit.service';
import { AUDIT_TARGET, TARGET_RULE } from '../../../audit/dto/audit-entry.dto';
import { Nullable, QueryInteger } from '../../../common/http/dto/dto-decorators';
import { CursorQuery } from '../../../common/http/dto/envelope.dto';
import type { LiveWorker } from '../../../delivery/queue/delivery-queue.repository';
import type { UsedOrganization } from '../operator.service';

class QueueDto {
  @ApiProperty({ type: 'integer', description: 'Deliveries that could start now' }) ready!: number;
  @ApiProperty({ type: 'integer', description: 'Scheduled, or waiting for the next attempt' }) waiting!: number;
  @ApiProperty({ type: 'integer', description: 'Claimed by a worker' }) claimed!: number;
  @ApiProperty({ type: 'integer', description: 'Held by an operator' }) held!: number;
  @ApiProperty({ type: 'integer', description: 'How long the oldest ready one has waited' })
  oldestReadySeconds!: number;
}

class RatesDto {
  @ApiProperty() acceptedPerMinute!: number;
  @ApiProperty() deliveredPerMinute!: number;
  @ApiProperty() deferredPerMinute!: number;
  @ApiProperty() bouncedPerMinute!: number;
}

/** Response of `GET /operator/v1/overview`. */
export class OperatorOverviewDto {
  @ApiProperty() queue!: QueueDto;
  @ApiProperty({ description: 'Recipients of live mail, over the last five minutes' }) rates!: RatesDto;
  @ApiProperty({ type: 'integer', description: 'Live worker processes' }) workers!: number;
  @ApiProperty({ type: 'integer' }) organizations!: number;
  @ApiProperty({ type: 'integer', description: 'Domains that are slowed or paused' }) restrictedDomains!: number;
  @ApiProperty({ type: 'integer', description: 'Groups of destinations that are paused' })
  pausedDestinations!: number;
}

export class WorkerDto {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty({ example: 'mail-1' }) host!: string;
  @ApiProperty({ type: 'integer' }) pid!: number;
  @ApiPropertyOptional({ description: 'The release that it runs', example: '1.0.0' }) version?: string;
  @ApiProperty({ format: 'date-time' }) startedAt!: string;
  @ApiProperty({ format: 'date-time', description: 'Others take over its deliveries if it does not renew it by then' })
  leaseUntil!: string;
  @ApiProperty({ type: 'integer', description: 'Deliveries that it has claimed' }) inFlight!: number;
}

/** Query of `GET /operator/v1/audit`. */
export class ListAuditQuery extends CursorQuery {
  @ApiPropertyOptional({ format: 'uuid' }) @IsOptional() @IsUUID() organization_id?: string;

  @ApiPropertyOptional({ example: 'organization.suspended' })
  @IsOptional()
  @Matches(/^[a-z][a-z_.]{0,63}$/, { message: 'action must be a name such as organization.suspended' })
  action?: string;

  @ApiPropertyOptional({ description: 'The id of the target: of a domain, a key, a destination' })
  @IsOptional()
  @Matches(AUDIT_TARGET, TARGET_RULE)
  target_id?: string;
}

class AuditTargetDto {
  @ApiProperty({ example: 'organization' }) type!: string;
  @ApiProperty() id!: string;
}

/** An audit entry of any organization; its properties are named differently than under `/v1/audit-log`. */
export class OperatorAuditEntryDto {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty({ format: 'date-time' }) at!: string;
  @ApiProperty({
    description:
      'The id of an API key, `operator` (the command line), `operator:` and the id of an operator key, or `system`',
  })
  actor!: string;
  @ApiProperty({ example: 'organization.suspended' }) action!: string;
  @ApiPropertyOptional({ format: 'uuid', description: 'Left out for what concerns the whole installation' })
  organizationId?: string;
  @ApiProperty() target!: AuditTargetDto;
  @ApiProperty({ type: 'object', additionalProperties: true, description: 'More about it; no personal data' })
  details!: object;
}

export function toWorkerDto({ version, startedAt, leaseUntil, ...worker }: LiveWorker): WorkerDto {
  return {
    ...worker,
    ...(version !== null && { version }),
    startedAt: startedAt.toISOString(),
    leaseUntil: leaseUntil.toISOString(),
  };
}

/** Leaves out the organization of entries that concern the whole installation. */
export function toOperatorAuditEntryDto(entry: AuditEntry): OperatorAuditEntryDto {
  const { id, occurredAt, actor, action, organizationId, targetType, targetId, data } = entry;
  return {
    ...{ id, at: occurredAt.toISOString(), actor, action },
    ...(organizationId !== INSTALLATION && { organizationId }),
    target: { type: targetType, id: targetId },
    details: data,
  };
}

const STATUSES = ['active', 'suspended'] as const;
type Status = (typeof STATUSES)[number];
export const MAX_MONTHLY = 2_000_000_000;
const NAME_FIELD = { minLength: 1, maxLength: 200, example: 'Acme' };

export class ListOrganizationsQuery {
  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: 1_000_000, default: 1 })
  @QueryInteger(1, 1_000_000)
  page: number = 1;

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

/** Body of `PATCH /operator/v1/organizations/{id}`; absent properties stay as they are. */
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
    description: 'Its share of the deliveries relative to other organizations with ready mail',
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
    description: 'Recipients of live mail in a month (UTC); sends over it get a 429. `null`: unlimited',
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

/** An organization with its settings and this day's and month's recipients of live mail. */
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
