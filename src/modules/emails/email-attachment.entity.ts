import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Mode } from '../../common/tenant';

/** A file of an email; of a raw message (`email_contents.is_raw`) a part of its bytes. */
@Entity('email_attachments')
export class EmailAttachment {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('text') mode!: Mode;
  @PrimaryColumn('uuid', { name: 'email_id' }) emailId!: string;
  @PrimaryColumn('smallint') position!: number;
  @Column('text') filename!: string;
  @Column('text', { name: 'content_type' }) contentType!: string;
  @Column('text', { name: 'content_id', nullable: true }) contentId!: string | null;
  @Column('integer') size!: number;
  @Column('bytea', { select: false }) content!: Buffer;
}
