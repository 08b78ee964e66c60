import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A template by its name; what it says is in its versions. Shared by both modes. */
@Entity('templates')
export class Template {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('uuid') id!: string;
  @Column('text') name!: string;
  /** The latest one. */
  @Column('integer') version!: number;
  @Column('timestamptz', { name: 'created_at' }) createdAt!: Date;
  @Column('timestamptz', { name: 'updated_at' }) updatedAt!: Date;
}
