import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn } from 'class-validator';
import type { ShownAddress, ShownPool } from '../../../delivery/egress/egress.service';

const STATES = ['active', 'suspended', 'warming'] as const;

class EgressSuspensionDto {
  @ApiProperty({ description: 'The group of destinations', example: 'mx1.example.net' }) destination!: string;
  @ApiProperty({ description: 'What the receiver said' }) cause!: string;
  @ApiProperty({ format: 'date-time' }) until!: string;
}

class EgressVolumeDto {
  @ApiProperty({ description: 'A profile of a large receiver, else a group of destinations', example: 'google' })
  provider!: string;
  @ApiProperty({ type: 'integer', description: 'Mails today, including volume that workers have reserved' })
  sent!: number;
}

class EgressWarmUpDto {
  @ApiProperty({ type: 'integer', description: 'Days with mail so far; 0: none yet' }) day!: number;
  @ApiProperty({ type: 'integer', description: 'Length of the warm-up in days' }) days!: number;
  @ApiProperty({ format: 'date-time' }) startedAt!: string;
  @ApiProperty({ type: 'integer', description: 'What it may send to each provider today' }) dailyVolume!: number;
  @ApiProperty({ type: [EgressVolumeDto], description: 'The busiest today, at most 20' }) providers!: EgressVolumeDto[];
}

/** A source address with its warm-up and the receivers that refuse it. */
export class EgressAddressDto {
  @ApiProperty({ example: '192.0.2.25', description: '`default`: the choice of the system' }) address!: string;
  @ApiProperty({ example: 'out1.mail.example.com' }) ehlo!: string;
  @ApiProperty({ enum: STATES, description: '`suspended`: some receiver refuses it. `warming`: it has a daily volume' })
  state!: (typeof STATES)[number];
  @ApiProperty({ type: [EgressSuspensionDto] }) suspensions!: EgressSuspensionDto[];
  @ApiPropertyOptional({ type: EgressWarmUpDto, description: 'Until it is warm' }) warmUp?: EgressWarmUpDto;
}

/** A pool of source addresses and the mail that uses it. */
export class EgressPoolDto {
  @ApiProperty({ description: '`default`: the choice of the system' }) pool!: string;
  @ApiProperty({ type: [EgressAddressDto] }) addresses!: EgressAddressDto[];
  @ApiProperty({ type: [String], description: 'Ids of the organizations whose mail leaves from it' })
  organizations!: string[];
  @ApiPropertyOptional({
    enum: ['transactional', 'bulk'],
    description: 'The category of mail of all other organizations that leaves from it',
  })
  category?: string;
}

/** Body of `PATCH /operator/v1/egress/{address}`. */
export class ChangeEgressAddressDto {
  @ApiProperty({ enum: ['skip', 'restart'] }) @IsIn(['skip', 'restart']) warmUp!: 'skip' | 'restart';
}

/** Response of `DELETE /operator/v1/egress/{address}/suspensions/{destination}`. */
export class ReleasedEgressDto {
  @ApiProperty({ example: '192.0.2.25' }) address!: string;
  @ApiProperty({ example: 'mx1.example.net' }) destination!: string;
  @ApiProperty() released!: true;
}

export function toEgressPoolDto({ addresses, organizations, ...pool }: ShownPool): EgressPoolDto {
  return { ...pool, organizations: [...organizations], addresses: addresses.map(toEgressAddressDto) };
}

export function toEgressAddressDto({ suspensions, warmUp, ...address }: ShownAddress): EgressAddressDto {
  const dated = warmUp && {
    ...warmUp,
    startedAt: warmUp.startedAt.toISOString(),
    providers: warmUp.providers.map((provider) => ({ ...provider })),
  };
  return {
    ...address,
    suspensions: suspensions.map(({ key, cause, until }) => ({ destination: key, cause, until: until.toISOString() })),
    ...(dated && { warmUp: dated }),
  };
}
