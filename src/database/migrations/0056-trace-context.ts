// Old code still runs against it: it only adds a column, which old processes leave empty.
import { commentOn } from './data-map/comment-on';
import { ForwardOnlyMigration } from './forward-only';

/** Owner: delivery. */
export class TraceContext1700000000056 extends ForwardOnlyMigration {
  readonly name = 'TraceContext1700000000056';

  // 24 bytes for the deliveries of a sampled trace, none for others; without a default the table is not rewritten.
  protected readonly sql = `
    alter table deliveries add column trace_context bytea;
    ${commentOn('deliveries', 'until the delivery has ended: four days at most after it was due', {
      trace_context: 'none: trace and span (W3C Trace Context) of the request, where it is traced',
    })}
  `;
}
