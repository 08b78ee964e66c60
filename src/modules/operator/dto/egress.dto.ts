import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import type { ShownPool } from '../../../delivery/egress/egress.service';

class EgressSuspensionDto {
  @ApiProperty({ description: 'The group of destinations', example: 'mx1.example.net' }) destination!: string;
  @ApiProperty({ description: 'What the receiver said' }) cause!: string;
  @ApiProperty({ format: 'date-time' }) until!: string;
}

class EgressAddressDto {
  @ApiProperty({ example: '192.0.2.25' }) address!: string;
  @ApiProperty({ example: 'out1.mail.example.com' }) ehlo!: string;
  @ApiProperty({ enum: ['active', 'suspended'], description: '`suspended`: some receiver refuses it' })
  state!: 'active' | 'suspended';
  @ApiProperty({ type: [EgressSuspensionDto] }) suspensions!: EgressSuspensionDto[];
}

export class EgressPoolDto {
  @ApiProperty({ description: '`default`: the choice of the system' }) pool!: string;
  @ApiProperty({ type: [EgressAddressDto] }) addresses!: EgressAddressDto[];
  @ApiProperty({ type: [String], description: 'Ids of the organizations whose mail leaves from it' })
  organizations!: string[];
  @ApiPropertyOptional({ enum: ['transactional', 'bulk'], description: 'Whose mail of all others leaves from it' })
  category?: string;
}

export function toEgressPoolDto({ addresses, organizations, ...pool }: ShownPool): EgressPoolDto {
  return {
    ...pool,
    organizations: [...organizations],
    addresses: addresses.map(({ suspensions, ...address }) => ({
      ...address,
      suspensions: suspensions.map(({ key, cause, until }) => ({
        destination: key,
        cause,
        until: until.toISOString(),
      })),
    })),
  };
}
