import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { QueryInteger } from '../../../../common/http/dto-decorators';
import { TLS_POLICY_TYPES, TLS_SUCCESS, type TlsPolicyType, type TlsTotals } from '../../registry/tls-report';

const COUNT = { type: 'integer', minimum: 0 } as const;

export class TlsReportsQuery {
  @ApiPropertyOptional({
    type: 'integer',
    minimum: 1,
    maximum: 90,
    default: 30,
    description: 'Reports of the last days',
  })
  @QueryInteger(1, 90)
  days: number = 30;
}

class TlsResultDto {
  @ApiProperty({ enum: TLS_POLICY_TYPES, description: 'Of the policy that the sessions were judged by' })
  policyType!: TlsPolicyType;
  @ApiProperty({ example: 'certificate-expired', description: '`success`, or what failed (RFC 8460 section 4.3)' })
  result!: string;
  @ApiPropertyOptional({ example: 'mx1.example.com', description: 'The receiving host, where the report names it' })
  mxHost?: string;
  @ApiProperty(COUNT) sessions!: number;
}

export class TlsReportsDto {
  @ApiProperty({ type: 'integer', description: 'Of how many days' }) days!: number;
  @ApiProperty(COUNT) reports!: number;
  @ApiProperty({ ...COUNT, description: 'Senders that have sent them' }) reporters!: number;
  @ApiProperty({ ...COUNT, description: 'Among those of `results`' }) succeeded!: number;
  @ApiProperty({ ...COUNT, description: 'Among those of `results`' }) failed!: number;
  @ApiProperty({ type: [TlsResultDto], description: 'At most 200, failures first' }) results!: TlsResultDto[];
}

export function toTlsReportsDto(days: number, { reports, reporters, results }: TlsTotals): TlsReportsDto {
  const sum = (isWanted: (result: string) => boolean) =>
    results.reduce((sessions, result) => sessions + (isWanted(result.result) ? result.sessions : 0), 0);
  return {
    ...{ days, reports, reporters },
    succeeded: sum((result) => result === TLS_SUCCESS),
    failed: sum((result) => result !== TLS_SUCCESS),
    results: results.map(({ mxHost, ...result }) => ({ ...result, ...(mxHost !== '' && { mxHost }) })),
  };
}
