import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsOptional, IsUUID } from 'class-validator';
import { DAY } from '../../../common/clock';
import { ValidationError } from '../../../common/errors/app-error';
import { QueryInteger, Timestamp } from '../../../common/http/dto/dto-decorators';
import type { Period } from '../stat-delta';
import { HEALTH_STATUSES, type HealthStatus } from '../reputation';

const HOURLY_DAYS = 7;
/** Of ten thousand, the response took 200 ms of the event loop. */
const MAX_DOMAINS = 1_000;

/** The period of all statistics; the hours that it touches count as a whole. */
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

/** Query of `GET /v1/stats` and of those parts of it that can be limited to a domain. */
export class StatsQuery extends PeriodQuery {
  @ApiPropertyOptional({ format: 'uuid' }) @IsOptional() @IsUUID() domain_id?: string;
}

/** Query of `GET /v1/stats/reputation`. */
export class ReputationQuery {
  @ApiPropertyOptional({ format: 'uuid' }) @IsOptional() @IsUUID() domain_id?: string;
}

/** Query of `GET /v1/stats/domains`. */
export class StatsByDomainQuery extends PeriodQuery {
  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: MAX_DOMAINS, default: MAX_DOMAINS })
  @QueryInteger(1, MAX_DOMAINS)
  limit: number = MAX_DOMAINS;

  @ApiPropertyOptional({ type: 'integer', minimum: 0, maximum: 1_000_000, default: 0 })
  @QueryInteger(0, 1_000_000)
  offset: number = 0;
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

/** Counts of recipients and rates as fractions of 1. */
export class StatsDto {
  @ApiProperty({ ...COUNT, description: 'Recipients accepted, as all counts are of recipients' }) total!: number;
  @ApiProperty({ ...COUNT, description: 'Of those accepted in the period: due, and not started' }) queued!: number;
  @ApiProperty({ ...COUNT, description: 'Of those accepted in the period: started, and not ended' }) sending!: number;
  @ApiProperty({ ...COUNT, description: 'Handed to a next hop, including the delivered ones' }) sent!: number;
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

/** Counts and rates of one domain. */
export class DomainStatsDto {
  @ApiProperty({ description: 'Its name, or the id of a removed domain whose name is no longer known' })
  domain!: string;
  @ApiProperty(COUNT) total!: number;
  @ApiProperty(COUNT) sent!: number;
  @ApiProperty(COUNT) delivered!: number;
  @ApiProperty(COUNT) bounced!: number;
  @ApiProperty(COUNT) opens!: number;
  @ApiProperty(COUNT) clicks!: number;
  @ApiProperty(RATE) deliveryRate!: number;
  @ApiProperty(RATE) bounceRate!: number;
}

/** Results of mail to one group of receivers. */
export class ProviderStatsDto {
  @ApiProperty({ example: 'google', description: 'A large receiver, or `other`' }) provider!: string;
  @ApiProperty({ ...COUNT, description: 'Recipients that the receiver accepted, including the delivered ones' })
  accepted!: number;
  @ApiProperty(COUNT) delivered!: number;
  @ApiProperty({ ...COUNT, description: 'Temporary failures, by attempts' }) deferred!: number;
  @ApiProperty(COUNT) bounced!: number;
  @ApiProperty({ ...COUNT, description: 'As reported by the receiver' }) complaints!: number;
  @ApiProperty({ ...RATE, description: 'deferred / (deferred + accepted + bounced)' }) deferralRate!: number;
  @ApiProperty({ ...RATE, description: 'bounced / (accepted + bounced), without bounces unrelated to the sender' })
  bounceRate!: number;
  @ApiProperty({ ...RATE, description: 'complaints / delivered' }) complaintRate!: number;
}

/** Counts of one UTC hour, without rates. */
export class HourStatsDto {
  @ApiProperty({ format: 'date-time', description: 'When the hour begins, UTC' }) hour!: string;
  @ApiProperty({ format: 'date-time', description: 'The same as `hour`' }) timestamp!: string;
  @ApiProperty(COUNT) total!: number;
  @ApiProperty(COUNT) sent!: number;
  @ApiProperty(COUNT) delivered!: number;
  @ApiProperty(COUNT) bounced!: number;
  @ApiProperty(COUNT) opens!: number;
  @ApiProperty(COUNT) clicks!: number;
}

/** Response of `GET /v1/stats`. */
export class StatsSummaryDto {
  @ApiProperty({ type: PeriodDto }) period!: PeriodDto;
  @ApiProperty({ type: StatsDto }) stats!: StatsDto;
}

/** Response of `GET /v1/stats/domains`. */
export class StatsByDomainDto {
  @ApiProperty({ type: PeriodDto }) period!: PeriodDto;
  @ApiProperty({ type: [DomainStatsDto], description: 'With mail in the period, the largest first' })
  domains!: DomainStatsDto[];
  @ApiProperty({ description: 'Whether there are smaller ones: read on with `offset`' }) hasMore!: boolean;
}

/** Response of `GET /v1/stats/providers`. */
export class StatsByProviderDto {
  @ApiProperty({ type: PeriodDto }) period!: PeriodDto;
  @ApiProperty({ type: [ProviderStatsDto], description: 'With mail in the period, the largest first' })
  providers!: ProviderStatsDto[];
}

/** Response of `GET /v1/stats/hourly`. */
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

/** Response of `GET /v1/stats/reputation`. */
export class ReputationDto {
  @ApiProperty({ format: 'uuid' }) organizationId!: string;
  @ApiPropertyOptional({ format: 'uuid', description: 'When it is of one domain' }) domainId?: string;
  @ApiProperty({ type: ReputationMetricsDto }) metrics!: ReputationMetricsDto;
  @ApiProperty({
    type: [String],
    description: 'What lowers the score and what to do about it, the largest penalty first',
  })
  recommendations!: string[];
}
