import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Mode } from '../../common/tenant';

export type ExportSection = 'emails' | 'events' | 'suppressions';

/** A sealed part of an export's result. */
@Entity('privacy_export_parts')
export class PrivacyExportPart {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('text') mode!: Mode;
  @PrimaryColumn('uuid', { name: 'request_id' }) requestId!: string;
  @PrimaryColumn('text') section!: ExportSection;
  @PrimaryColumn('integer') part!: number;
  @Column('bytea') content!: Buffer;
}
