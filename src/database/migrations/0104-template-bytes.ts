import { commentOn } from './data-map/comment-on';
import { ForwardOnlyMigration } from './forward-only';

// Old code still runs against it: it adds a column with a default. An old process leaves it as it is, and the next change counts anew.
/** Owner: templates. What is stored of a template, so that an organization's total needs no reading of all versions. */
export class TemplateBytes1700000000104 extends ForwardOnlyMigration {
  readonly name = 'TemplateBytes1700000000104';

  protected readonly sql = `
    -- 0: not counted yet; the organization's next change counts it.
    alter table templates add column stored_bytes integer not null default 0;
    ${commentOn('templates', 'until it is deleted', {
      stored_bytes: 'none: the bytes of the texts of all its versions; 0: not counted yet',
    })}
  `;
}
