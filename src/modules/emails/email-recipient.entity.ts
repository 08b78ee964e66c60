import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Mode } from '../../common/tenant';
import type { RecipientKind } from './accept/send-request';
import type { EmailStatus } from './outcomes/email-state';

/** One recipient of an email and what became of the mail to it. */
@Entity('email_recipients')
export class EmailRecipient {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('text') mode!: Mode;
  @PrimaryColumn('uuid', { name: 'email_id' }) emailId!: string;
  @PrimaryColumn('smallint') position!: number;
  @Column('text') kind!: RecipientKind;
  @Column('text') address!: string;
  @Column('text') status!: EmailStatus;
  @Column('integer', { default: 0 }) seen!: number;
  @Column('integer', { default: 0 }) attempts!: number;
  @Column('text', { name: 'last_response', nullable: true }) lastResponse!: string | null;
  @Column('timestamptz', { name: 'updated_at' }) updatedAt!: Date;
}
