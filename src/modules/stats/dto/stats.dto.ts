import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsOptional, IsUUID } from 'class-validator';
import { DAY } from '../../../common/clock';
import { ValidationError } from '../../../common/errors/app-error';
import { Timestamp } from '../../../common/http/dto-decorators';
import type { Period } from '../stat-delta';
import { HEALTH_STATUSES, type HealthStatus } from '../reputation';

const HOURLY_DAYS = 7;

export class PeriodQuery {
  @ApiProperty({ format: 'date-time', type: String, description: 'Its UTC hour counts as a whole' })
  @Timestamp()
  start_date!: Date;

  @ApiProperty({
    format: 'date-time',
    type: String,
    description: 'After `start_date`; an hour begun counts as a whole',
  })
  @Timestamp()
  end_date!: Date;
}

export class StatsQuery extends PeriodQuery {
  @ApiPropertyOptional({ format: 'uuid' }) @IsOptional() @IsUUID() domain_id?: string;
}

export class ReputationQuery {
  @ApiPropertyOptional({ format: 'uuid' }) @IsOptional() @IsUUID() domain_id?: string;
}

/** @throws ValidationError */
export function periodOf({ start_date: from, end_date: to }: PeriodQuery): Period {
  if (to <= from) throw new ValidationError({ end_date: ['end_date must be after start_date'] });
  return { from, to };
}

/** At most seven days. @throws ValidationError */
export function hourlyPeriodOf(query: PeriodQuery): Period {
  const { from, to } = periodOf(query);
  if (to.getTime() - from.getTime() > HOURLY_DAYS * DAY) {
    throw new ValidationError({ end_date: [`end_date must be at most ${HOURLY_DAYS} days after start_date`] });
  }
  return { from, to };
}

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

export class ProviderStatsDto {
  @ApiProperty({ example: 'google', description: 'A large receiver, or `other`' }) provider!: string;
  @ApiProperty({ ...COUNT, description: 'Recipients that the receiver took; the delivered are among them' })
  accepted!: number;
  @ApiProperty(COUNT) delivered!: number;
  @ApiProperty({ ...COUNT, description: 'Attempts that are repeated' }) deferred!: number;
  @ApiProperty(COUNT) bounced!: number;
  @ApiProperty({ ...COUNT, description: 'As far as the receiver tells' }) complaints!: number;
  @ApiProperty({ ...RATE, description: 'deferred / (deferred + accepted + bounced)' }) deferralRate!: number;
  @ApiProperty({ ...RATE, description: 'bounced / (accepted + bounced), those aside that say nothing of the sender' })
  bounceRate!: number;
  @ApiProperty({ ...RATE, description: 'complaints / delivered' }) complaintRate!: number;
}

export class HourStatsDto {
  @ApiProperty({ format: 'date-time', description: 'When the hour begins, UTC' }) hour!: string;
  @ApiProperty({ format: 'date-time', description: 'The same' }) timestamp!: string;
  @ApiProperty(COUNT) total!: number;
  @ApiProperty(COUNT) sent!: number;
  @ApiProperty(COUNT) delivered!: number;
  @ApiProperty(COUNT) bounced!: number;
  @ApiProperty(COUNT) opens!: number;
  @ApiProperty(COUNT) clicks!: number;
}

export class StatsSummaryDto {
  @ApiProperty({ type: PeriodDto }) period!: PeriodDto;
  @ApiProperty({ type: StatsDto }) stats!: StatsDto;
}

export class StatsByDomainDto {
  @ApiProperty({ type: PeriodDto }) period!: PeriodDto;
  @ApiProperty({ type: [DomainStatsDto], description: 'With mail in the period, the most first' })
  domains!: DomainStatsDto[];
}

export class StatsByProviderDto {
  @ApiProperty({ type: PeriodDto }) period!: PeriodDto;
  @ApiProperty({ type: [ProviderStatsDto], description: 'With mail in the period, the most first' })
  providers!: ProviderStatsDto[];
}

export class StatsByHourDto {
  @ApiProperty({ type: PeriodDto }) period!: PeriodDto;
  @ApiProperty({ type: [HourStatsDto], description: 'Every hour, oldest first' }) hourly!: HourStatsDto[];
}

class ReputationMetricsDto {
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
