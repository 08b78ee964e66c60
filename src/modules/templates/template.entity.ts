import { Column, Entity, PrimaryColumn } from 'typeorm';

/** How much is kept of a template's versions: the latest ones. */
export const KEPT_VERSIONS = 200;
export const KEPT_BYTES = 16 * 1024 * 1024;
/** Of all versions of all templates of an organization: 1,000 templates with 256 KiB each. */
export const TOTAL_BYTES = 256 * 1024 * 1024;

/** A template by its name; its texts are in its versions. Shared by both modes. */
@Entity('templates')
export class Template {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('uuid') id!: string;
  @Column('text') name!: string;
  /** Number of the latest version. */
  @Column('integer') version!: number;
  @Column('timestamptz', { name: 'created_at' }) createdAt!: Date;
  @Column('timestamptz', { name: 'updated_at' }) updatedAt!: Date;
  /** Of the texts of all versions; 0: not counted yet. */
  @Column('integer', { name: 'stored_bytes', default: 0 }) storedBytes!: number;
}

/** One version of a template's texts; never changed. */
@Entity('template_versions')
export class TemplateVersion {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('uuid', { name: 'template_id' }) templateId!: string;
  @PrimaryColumn('integer') version!: number;
  @Column('text') subject!: string;
  @Column('text', { nullable: true }) html!: string | null;
  @Column('text', { nullable: true }) text!: string | null;
  /** The variables that it uses. */
  @Column('text', { array: true }) variables!: string[];
  @Column('timestamptz', { name: 'created_at' }) createdAt!: Date;
}
