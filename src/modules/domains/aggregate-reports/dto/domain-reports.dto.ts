import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { QueryInteger } from '../../../../common/http/dto/dto-decorators';
import {
  DMARC_ADVICE,
  type DmarcPolicy,
  TLS_POLICY_TYPES,
  TLS_SUCCESS,
  type TlsPolicyType,
  type TlsTotals,
} from '../aggregate-report';
import type { DmarcView } from '../aggregate-reports.service';

const COUNT = { type: 'integer', minimum: 0 } as const;

/** Query of `GET /v1/domains/{id}/dmarc` and `/tls-reports`. */
export class ReportDaysQuery {
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

class DmarcSourceDto {
  @ApiProperty({ example: '192.0.2.25' }) sourceIp!: string;
  @ApiProperty(COUNT) messages!: number;
  @ApiProperty({ ...COUNT, description: 'With a signature that passed and is of the domain' }) dkimAligned!: number;
  @ApiProperty({ ...COUNT, description: 'With a return path that passed and is of the domain' }) spfAligned!: number;
  @ApiProperty({ ...COUNT, description: 'Aligned by either' }) passed!: number;
  @ApiProperty({ ...COUNT, description: 'Aligned by neither' }) failed!: number;
  @ApiProperty({ ...COUNT, description: 'Quarantined or rejected' }) refused!: number;
}

class DmarcRecommendationDto {
  @ApiProperty({ enum: DMARC_ADVICE }) code!: (typeof DMARC_ADVICE)[number];
  @ApiProperty() message!: string;
}

/** Response of `GET /v1/domains/{id}/dmarc`; counts are of messages. */
export class DmarcDto {
  @ApiProperty({ type: 'integer', description: 'Length of the period in days' }) days!: number;
  @ApiPropertyOptional({ enum: ['none', 'quarantine', 'reject'], description: 'As the newest report saw it' })
  policy?: DmarcPolicy;
  @ApiProperty(COUNT) reports!: number;
  @ApiProperty({ ...COUNT, description: 'Receivers that have sent them' }) reporters!: number;
  @ApiProperty(COUNT) messages!: number;
  @ApiProperty(COUNT) passed!: number;
  @ApiProperty(COUNT) failed!: number;
  @ApiProperty({ type: [DmarcSourceDto], description: 'At most 200, those with the most failed messages first' })
  sources!: DmarcSourceDto[];
  @ApiProperty({ type: DmarcRecommendationDto }) recommendation!: DmarcRecommendationDto;
}

/** `policy` is absent without a report. */
export function toDmarcDto(days: number, { totals, sources, recommendation }: DmarcView): DmarcDto {
  const { policy, reports, reporters, messages, passed } = totals;
  return {
    ...{ days, reports, reporters, messages, passed, failed: messages - passed },
    ...(policy !== undefined && { policy }),
    sources: sources.map((source) => ({ ...source, failed: source.messages - source.passed })),
    recommendation,
  };
}

class TlsResultDto {
  @ApiProperty({ enum: TLS_POLICY_TYPES, description: 'Of the policy that the sessions were checked against' })
  policyType!: TlsPolicyType;
  @ApiProperty({ example: 'certificate-expired', description: '`success`, or what failed (RFC 8460 section 4.3)' })
  result!: string;
  @ApiPropertyOptional({ example: 'mx1.example.com', description: 'The receiving host, where the report names it' })
  mxHost?: string;
  @ApiProperty(COUNT) sessions!: number;
}

/** Response of `GET /v1/domains/{id}/tls-reports`; counts are of sessions. */
export class TlsReportsDto {
  @ApiProperty({ type: 'integer', description: 'Length of the period in days' }) days!: number;
  @ApiProperty(COUNT) reports!: number;
  @ApiProperty({ ...COUNT, description: 'Senders that have sent them' }) reporters!: number;
  @ApiProperty({ ...COUNT, description: 'Among those of `results`' }) succeeded!: number;
  @ApiProperty({ ...COUNT, description: 'Among those of `results`' }) failed!: number;
  @ApiProperty({ type: [TlsResultDto], description: 'At most 200, failures first' }) results!: TlsResultDto[];
}

/** `succeeded` and `failed` are the sums of the listed results, at most 200. */
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
