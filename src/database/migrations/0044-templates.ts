// Old code still runs against it: it only adds tables.
import { commentOn } from './data-map/comment-on';
import { ForwardOnlyMigration } from './forward-only';

/** Owner: templates. */
export class Templates1700000000044 extends ForwardOnlyMigration {
  readonly name = 'Templates1700000000044';

  protected readonly sql = `
    create table templates (
      organization_id uuid not null,
      id uuid not null,
      name text not null,
      version integer not null,
      created_at timestamptz not null,
      updated_at timestamptz not null,
      primary key (organization_id, id)
    );
    create unique index templates_name on templates (organization_id, name);
    ${commentOn('templates', 'until it is deleted', {
      organization_id: 'none: the tenant',
      id: 'none: the template',
      name: 'none: the customer’s own name for it',
      version: 'none: the latest version',
      created_at: 'none: when it was made',
      updated_at: 'none: when it was changed',
    })}
    create table template_versions (
      organization_id uuid not null,
      template_id uuid not null,
      version integer not null,
      subject text not null,
      html text,
      text text,
      variables text[] not null,
      created_at timestamptz not null,
      primary key (organization_id, template_id, version)
    );
    ${commentOn('template_versions', 'until the template is deleted, or 200 versions later', {
      organization_id: 'none: the tenant',
      template_id: 'none: the template',
      version: 'none: counts from 1',
      subject: 'none: what all mails made from it say',
      html: 'none: what all mails made from it say',
      text: 'none: what all mails made from it say',
      variables: 'none: names of what is filled in for each mail',
      created_at: 'none: when it was made',
    })}
  `;
}
