import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Mode } from '../../../common/tenant';
import type { RequestKey } from './privacy-request.entity';

export type ExportSection = 'emails' | 'events' | 'suppressions';

/** Names a part of a request's result. */
export interface PartKey extends RequestKey {
  readonly section: ExportSection;
  readonly part: number;
}

/** An encrypted part of an export's result. */
@Entity('privacy_export_parts')
export class PrivacyExportPart {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('text') mode!: Mode;
  @PrimaryColumn('uuid', { name: 'request_id' }) requestId!: string;
  @PrimaryColumn('text') section!: ExportSection;
  @PrimaryColumn('integer') part!: number;
  @Column('bytea') content!: Buffer;
}
