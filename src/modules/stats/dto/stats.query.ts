import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsOptional, IsUUID } from 'class-validator';
import { DAY } from '../../../common/clock';
import { ValidationError } from '../../../common/errors/app-error';
import { Timestamp } from '../../../common/http/dto-decorators';
import type { Period } from '../period';

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
