import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsOptional, IsUUID, Matches } from 'class-validator';
import { type AuditEntry, INSTALLATION } from '../../../audit/audit.service';
import type { LiveWorker } from '../../../delivery/queue/delivery-queue.repository';
import { CursorQuery } from '../../../common/http/envelope.dto';

class QueueDto {
  @ApiProperty({ type: 'integer', description: 'Deliveries that could begin now' }) ready!: number;
  @ApiProperty({ type: 'integer', description: 'For later' }) waiting!: number;
  @ApiProperty({ type: 'integer', description: 'In the hands of a worker' }) claimed!: number;
  @ApiProperty({ type: 'integer', description: 'Put aside by an operator' }) held!: number;
  @ApiProperty({ type: 'integer', description: 'How long the oldest ready one has waited' })
  oldestReadySeconds!: number;
}

class RatesDto {
  @ApiProperty() acceptedPerMinute!: number;
  @ApiProperty() deliveredPerMinute!: number;
  @ApiProperty() deferredPerMinute!: number;
  @ApiProperty() bouncedPerMinute!: number;
}

export class OperatorOverviewDto {
  @ApiProperty() queue!: QueueDto;
  @ApiProperty({ description: 'Recipients of live mail, over the last five minutes' }) rates!: RatesDto;
  @ApiProperty({ type: 'integer', description: 'Live worker processes' }) workers!: number;
  @ApiProperty({ type: 'integer' }) organizations!: number;
  @ApiProperty({ type: 'integer', description: 'Domains that are slowed or paused' }) restrictedDomains!: number;
  @ApiProperty({ type: 'integer', description: 'Groups of destinations that get no mail for now' })
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
  @ApiProperty({ type: 'integer', description: 'Deliveries in its hands' }) inFlight!: number;
}

export class ListAuditQuery extends CursorQuery {
  @ApiPropertyOptional({ format: 'uuid' }) @IsOptional() @IsUUID() organization_id?: string;

  @ApiPropertyOptional({ example: 'organization.suspended' })
  @IsOptional()
  @Matches(/^[a-z][a-z_.]{0,63}$/)
  action?: string;
}

class AuditTargetDto {
  @ApiProperty({ example: 'organization' }) type!: string;
  @ApiProperty() id!: string;
}

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

export function toOperatorAuditEntryDto(entry: AuditEntry): OperatorAuditEntryDto {
  const { id, occurredAt, actor, action, organizationId, targetType, targetId, data } = entry;
  return {
    ...{ id, at: occurredAt.toISOString(), actor, action },
    ...(organizationId !== INSTALLATION && { organizationId }),
    target: { type: targetType, id: targetId },
    details: data,
  };
}
