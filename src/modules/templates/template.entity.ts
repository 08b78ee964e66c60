import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A template by its name; its texts are in its versions. Shared by both modes. */
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

/** The texts of a template from its version on; never changed. */
@Entity('template_versions')
export class TemplateVersion {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('uuid', { name: 'template_id' }) templateId!: string;
  @PrimaryColumn('integer') version!: number;
  @Column('text') subject!: string;
  @Column('text', { nullable: true }) html!: string | null;
  @Column('text', { nullable: true }) text!: string | null;
  /** The variables found in it. */
  @Column('text', { array: true }) variables!: string[];
  @Column('timestamptz', { name: 'created_at' }) createdAt!: Date;
}
