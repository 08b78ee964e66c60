import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsOptional, IsString, IsUUID, MaxLength } from 'class-validator';
import { Nullable } from '../../../../common/http/dto/dto-decorators';
import { NamedPagesQuery } from '../../../../common/http/dto/envelope.dto';
import type { ShownRoute } from '../inbound-routes.service';

const MAX_ADDRESS = 254;
const ADDRESS = {
  maxLength: MAX_ADDRESS,
  example: 'support@in.example.com',
  description: 'An address, or `*@` and a domain. The domain, or one above it, must be verified',
};
const WEBHOOK = {
  format: 'uuid',
  description:
    'The only webhook that gets events of its mail, whatever it subscribes to; without one, all subscribed webhooks do',
};

export class AddInboundRouteDto {
  @ApiProperty(ADDRESS) @IsString() @MaxLength(MAX_ADDRESS) address!: string;
  @ApiPropertyOptional(WEBHOOK) @IsOptional() @IsUUID() webhookId?: string;
}

export class ChangeInboundRouteDto {
  @ApiPropertyOptional(ADDRESS) @IsOptional() @IsString() @MaxLength(MAX_ADDRESS) address?: string;

  @ApiPropertyOptional({ ...WEBHOOK, type: String, nullable: true, description: 'null removes it' })
  @IsOptional()
  @Nullable()
  @IsUUID()
  webhookId?: string | null;
}

export class ListInboundRoutesQuery extends NamedPagesQuery {}

export class InboundRouteDto {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty({ example: 'support@in.example.com' }) address!: string;
  @ApiPropertyOptional({
    format: 'uuid',
    description: 'The verified domain at its host, or the nearest one above. Without one, mail to it is refused',
  })
  domainId?: string;
  @ApiPropertyOptional({ format: 'uuid' }) webhookId?: string;
  @ApiProperty({ format: 'date-time' }) createdAt!: string;
  @ApiProperty({ format: 'date-time' }) updatedAt!: string;
}

export class RemovedInboundRouteDto {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty({ enum: [true] }) deleted!: true;
}

export function toInboundRouteDto({ id, address, domainId, webhookId, ...times }: ShownRoute): InboundRouteDto {
  const createdAt = times.createdAt.toISOString();
  const updatedAt = times.updatedAt.toISOString();
  return {
    ...{ id, address, ...(domainId !== undefined && { domainId }), ...(webhookId !== null && { webhookId }) },
    ...{ createdAt, updatedAt },
  };
}
