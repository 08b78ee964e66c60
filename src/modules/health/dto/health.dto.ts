import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import type { SmtpHealth } from '../health-indicators';
import { DATABASE_FAULTS, type DatabaseFault } from '../database-fault';

const WHY = { enum: DATABASE_FAULTS, description: 'Absent when healthy' };

/** Response of `GET /health`. */
export class LivenessDto {
  @ApiProperty({ enum: ['ok'] }) status!: 'ok';
  @ApiProperty({ format: 'date-time' }) timestamp!: string;
  @ApiProperty({ example: 'waybill' }) service!: string;
}

class DatabaseHealthDto {
  @ApiProperty() healthy!: boolean;
  @ApiProperty({ type: 'integer', example: 1 }) latencyMs!: number;
  @ApiPropertyOptional(WHY) error?: DatabaseFault;
}

/** Response of `GET /health/startup`. */
export class ReadinessDto {
  @ApiProperty({ enum: ['ready', 'not_ready'] }) status!: 'ready' | 'not_ready';
  @ApiProperty({ format: 'date-time' }) timestamp!: string;
  @ApiProperty() database!: DatabaseHealthDto;
  @ApiPropertyOptional({ description: 'What the operator has to do first, such as `waybill migrate`' }) reason?: string;
}

class QueueHealthDto {
  @ApiProperty({ description: 'Whether the queue could be measured; only then the numbers are there' })
  healthy!: boolean;
  @ApiPropertyOptional({ type: 'integer', description: 'Open deliveries: ready, waiting and claimed' }) depth?: number;
  @ApiPropertyOptional({ type: 'integer', description: 'How long the oldest ready delivery has waited' })
  oldestSeconds?: number;
  @ApiPropertyOptional({ type: 'integer', description: 'Could start now' }) ready?: number;
  @ApiPropertyOptional({ type: 'integer', description: 'Scheduled, or between two attempts' }) waiting?: number;
  @ApiPropertyOptional({ type: 'integer', description: 'With a worker' }) claimed?: number;
  @ApiPropertyOptional(WHY) error?: DatabaseFault;
}

class MemoryDto {
  @ApiProperty({ type: 'integer', description: 'Bytes' }) rss!: number;
  @ApiProperty({ type: 'integer', description: 'Bytes' }) heapUsed!: number;
  @ApiProperty({ type: 'integer', description: 'Bytes' }) heapTotal!: number;
}

class ClockHealthDto {
  @ApiProperty({ description: "Whether this process's clock agrees with the database's" }) healthy!: boolean;
  @ApiProperty({ description: 'Seconds that it is ahead', example: 0.002 }) offsetSeconds!: number;
}

class DiskHealthDto {
  @ApiProperty({ description: 'False while new mail is refused because a disk is nearly full' }) healthy!: boolean;
  @ApiPropertyOptional({ type: 'integer', description: 'Of the fullest disk; absent when none is watched' })
  freeBytes?: number;
}

class ReplicaHealthDto {
  @ApiProperty({ description: 'False while lists, statistics and exports are read from the primary instead' })
  healthy!: boolean;
  @ApiProperty({ enum: ['used', 'behind', 'away'] }) use!: 'used' | 'behind' | 'away';
  @ApiPropertyOptional({ description: 'How far it is behind; absent while it is away', example: 0.4 })
  lagSeconds?: number;
}

class MasterKeyHealthDto {
  @ApiProperty({ enum: [false] }) healthy!: false;
}

class SmtpHealthDto {
  @ApiProperty({ description: 'False while the relay gets no mail' }) healthy!: boolean;
  @ApiProperty({
    enum: ['open', 'paused', 'probing', 'slowed', 'unknown'],
    description: 'What the workers have found; `paused`: its name is not found, it is not reached, or it refuses',
  })
  relay!: SmtpHealth['relay'];
}

class ServicesDto {
  @ApiProperty({ type: DatabaseHealthDto }) database!: DatabaseHealthDto;
  @ApiProperty({ type: QueueHealthDto }) queue!: QueueHealthDto;
  @ApiProperty({ type: ClockHealthDto }) clock!: ClockHealthDto;
  @ApiProperty({ type: DiskHealthDto }) disk!: DiskHealthDto;
  @ApiProperty({
    enum: ['on', 'off', 'unavailable'],
    description: 'Whether the database itself keeps requests to their tenant, as found at the start',
  })
  rowLevelSecurity!: 'on' | 'off' | 'unavailable';
  @ApiPropertyOptional({
    type: MasterKeyHealthDto,
    description: 'Only while other processes use a master key that this one lacks',
  })
  masterKey?: MasterKeyHealthDto;
  @ApiPropertyOptional({ type: SmtpHealthDto, description: 'Only in the mode `relay`' })
  smtp?: SmtpHealthDto;
  @ApiPropertyOptional({ type: ReplicaHealthDto, description: 'Absent without DATABASE_READ_URL' })
  replica?: ReplicaHealthDto;
  @ApiPropertyOptional({ type: 'integer', description: 'Live worker processes; absent when not measured' })
  workers?: number;
}

class RuntimeDto {
  @ApiProperty({ example: 'v24.11.0' }) nodeVersion!: string;
  @ApiProperty({ example: 'linux' }) platform!: string;
  @ApiProperty({ example: 'x64' }) arch!: string;
}

/** Response of `GET /health/detailed`. */
export class HealthReportDto {
  @ApiProperty({ enum: ['ok', 'degraded', 'unhealthy'] }) status!: 'ok' | 'degraded' | 'unhealthy';
  @ApiProperty({ format: 'date-time' }) timestamp!: string;
  @ApiProperty({ type: 'integer', description: 'Seconds since the process started' }) uptime!: number;
  @ApiProperty({ type: MemoryDto }) memory!: MemoryDto;
  @ApiProperty({ type: ServicesDto }) services!: ServicesDto;
  @ApiProperty({ type: RuntimeDto }) environment!: RuntimeDto;
}
