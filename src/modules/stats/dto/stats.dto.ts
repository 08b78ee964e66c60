import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { HEALTH_STATUSES, type HealthStatus } from '../reputation';

const COUNT = { type: 'integer', minimum: 0 } as const;
const RATE = { type: Number, minimum: 0, maximum: 1 } as const;

export class PeriodDto {
  @ApiProperty({ format: 'date-time' }) from!: string;
  @ApiProperty({ format: 'date-time' }) to!: string;
}

export class StatsDto {
  @ApiProperty({ ...COUNT, description: 'Recipients accepted, as all counts are of recipients' }) total!: number;
  @ApiProperty({ ...COUNT, description: 'Of those accepted in the period: due, and not begun' }) queued!: number;
  @ApiProperty({ ...COUNT, description: 'Of those accepted in the period: begun, and not ended' }) sending!: number;
  @ApiProperty({ ...COUNT, description: 'Handed to a next hop; the delivered are among them' }) sent!: number;
  @ApiProperty(COUNT) delivered!: number;
  @ApiProperty(COUNT) bounced!: number;
  @ApiProperty(COUNT) failed!: number;
  @ApiProperty({ ...COUNT, description: 'Recipients who opened, each email once' }) opens!: number;
  @ApiProperty({ ...COUNT, description: 'Recipients who clicked, each email once' }) clicks!: number;
  @ApiProperty({ ...RATE, description: 'delivered / total' }) deliveryRate!: number;
  @ApiProperty({ ...RATE, description: 'opens / delivered' }) openRate!: number;
  @ApiProperty({ ...RATE, description: 'clicks / delivered' }) clickRate!: number;
  @ApiProperty({ ...RATE, description: 'bounced / total' }) bounceRate!: number;
}

export class DomainStatsDto {
  @ApiProperty({ description: 'Its name; the id of a removed one whose name is not known any more' }) domain!: string;
  @ApiProperty(COUNT) total!: number;
  @ApiProperty(COUNT) sent!: number;
  @ApiProperty(COUNT) delivered!: number;
  @ApiProperty(COUNT) bounced!: number;
  @ApiProperty(COUNT) opens!: number;
  @ApiProperty(COUNT) clicks!: number;
  @ApiProperty(RATE) deliveryRate!: number;
  @ApiProperty(RATE) bounceRate!: number;
}

export class HourDto {
  @ApiProperty({ format: 'date-time', description: 'When the hour begins, UTC' }) hour!: string;
  @ApiProperty({ format: 'date-time', description: 'The same' }) timestamp!: string;
  @ApiProperty(COUNT) total!: number;
  @ApiProperty(COUNT) sent!: number;
  @ApiProperty(COUNT) delivered!: number;
  @ApiProperty(COUNT) bounced!: number;
  @ApiProperty(COUNT) opens!: number;
  @ApiProperty(COUNT) clicks!: number;
}

export class StatsAnswerDto {
  @ApiProperty({ type: PeriodDto }) period!: PeriodDto;
  @ApiProperty({ type: StatsDto }) stats!: StatsDto;
}

export class DomainStatsAnswerDto {
  @ApiProperty({ type: PeriodDto }) period!: PeriodDto;
  @ApiProperty({ type: [DomainStatsDto], description: 'With mail in the period, the most first' })
  domains!: DomainStatsDto[];
}

export class HourlyAnswerDto {
  @ApiProperty({ type: PeriodDto }) period!: PeriodDto;
  @ApiProperty({ type: [HourDto], description: 'Every hour, oldest first' }) hourly!: HourDto[];
}

export class ReputationMetricsDto {
  @ApiProperty({ type: 'integer', minimum: 0, maximum: 100 }) overallScore!: number;
  @ApiProperty({ ...RATE, description: 'Bounced of the recipients' }) bounceRate!: number;
  @ApiProperty({ ...RATE, description: 'Complaints of the delivered' }) complaintRate!: number;
  @ApiProperty({ ...RATE, description: 'Delivered of the recipients' }) deliveryRate!: number;
  @ApiProperty({ enum: HEALTH_STATUSES }) healthStatus!: HealthStatus;
}

export class ReputationDto {
  @ApiProperty({ format: 'uuid' }) organizationId!: string;
  @ApiPropertyOptional({ format: 'uuid', description: 'When it is of one domain' }) domainId?: string;
  @ApiProperty({ type: ReputationMetricsDto }) metrics!: ReputationMetricsDto;
  @ApiProperty({ type: [String], description: 'What costs points and what to do about it, the costliest first' })
  recommendations!: string[];
}
