import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { REPLY_ACTIONS, REPLY_CLASSES } from '../../../delivery/policy/classify-reply';
import { type PhaseTimes, TLS_POLICIES } from '../../../delivery/ports/attempt-trace';

const OUTCOMES = ['sent', 'delivered', 'deferred', 'unknown', 'bounced', 'failed'];

class AttemptRouteDto {
  @ApiProperty({ description: 'The host that was spoken to, the last of several' }) mxHost!: string;
  @ApiProperty() address!: string;
  @ApiProperty({ type: 'integer' }) port!: number;
  @ApiPropertyOptional({ description: 'The address that the mail left from' }) source?: string;
  @ApiPropertyOptional({ description: 'The pool which that is of' }) pool?: string;
}

class AttemptTlsDto {
  @ApiProperty({ example: 'TLSv1.3' }) version!: string;
  @ApiProperty() cipher!: string;
  @ApiProperty({ description: 'Whether the certificate proves the host' }) verified!: boolean;
  @ApiProperty({ enum: TLS_POLICIES }) policy!: string;
}

class AttemptPhasesDto implements PhaseTimes {
  @ApiPropertyOptional({ type: 'integer' }) dns?: number;
  @ApiPropertyOptional({ type: 'integer' }) connect?: number;
  @ApiPropertyOptional({ type: 'integer' }) greeting?: number;
  @ApiPropertyOptional({ type: 'integer' }) tls?: number;
  @ApiPropertyOptional({ type: 'integer' }) mail?: number;
  @ApiPropertyOptional({ type: 'integer' }) rcpt?: number;
  @ApiPropertyOptional({ type: 'integer' }) data?: number;
  @ApiPropertyOptional({ type: 'integer' }) final?: number;
}

class AttemptReplyDto {
  @ApiProperty({ type: 'integer' }) code!: number;
  @ApiPropertyOptional() enhancedCode?: string;
  @ApiProperty({ type: [String], maxItems: 20 }) lines!: string[];
}

class AttemptRuleDto {
  @ApiProperty() id!: string;
  @ApiProperty({ enum: REPLY_CLASSES }) class!: string;
  @ApiProperty({ enum: REPLY_ACTIONS }) action!: string;
}

export class AttemptDto {
  @ApiProperty() recipient!: string;
  @ApiProperty({ type: 'integer', description: 'From 1' }) attempt!: number;
  @ApiProperty({ format: 'date-time' }) startedAt!: string;
  @ApiProperty({ type: 'integer' }) durationMs!: number;
  @ApiProperty({ enum: OUTCOMES }) outcome!: string;
  @ApiPropertyOptional({ type: AttemptRouteDto }) route?: AttemptRouteDto;
  @ApiPropertyOptional({ type: AttemptTlsDto }) tls?: AttemptTlsDto;
  @ApiPropertyOptional({ type: AttemptPhasesDto }) phasesMs?: AttemptPhasesDto;
  @ApiPropertyOptional({ type: AttemptReplyDto }) reply?: AttemptReplyDto;
  @ApiPropertyOptional({ type: AttemptRuleDto }) rule?: AttemptRuleDto;
  @ApiPropertyOptional({
    description:
      'STARTTLS was offered and broke, twice, so that the mail went in the clear (policy `opportunistic`): how',
  })
  tlsFailure?: string;
  @ApiPropertyOptional({ enum: TLS_POLICIES, description: 'Which demand for encryption kept the mail back' })
  policy?: string;
  @ApiPropertyOptional({ format: 'date-time' }) nextAttemptAt?: string;
  @ApiPropertyOptional({ description: 'Cause of a deferral, bounce or failure' }) reason?: string;
}
