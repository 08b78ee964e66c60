// Old code still runs against it: it reads the two columns as before.
import { ForwardOnlyMigration } from './forward-only';

/** Owners: auth (organizations), emails. */
export class TrackingOptIn1700000000025 extends ForwardOnlyMigration {
  readonly name = 'TrackingOptIn1700000000025';

  protected readonly sql = `
    -- Nobody has asked for it so far: nothing was tracked.
    alter table organizations alter column track_opens set default false, alter column track_clicks set default false;
    update organizations set track_opens = false, track_clicks = false where track_opens or track_clicks;
    -- Mail that is still to be sent has the old default.
    update emails e set track_opens = false, track_clicks = false
    from deliveries d
    where (e.organization_id, e.mode, e.id) = (d.organization_id, d.mode, d.email_id) and (e.track_opens or e.track_clicks);
  `;
}
