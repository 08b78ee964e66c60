// Old code still runs against it: it only changes what is said of columns.
import { commentOn, keptFor } from './data-map/comment-on';
import { ForwardOnlyMigration } from './forward-only';

const REPORTS = 'RETENTION_INBOUND_DAYS; a day when a program’s address got no complaint about our mail';

/** Owner: auth, domains, inbound, emails, mailbox, throttling, delivery. What is said of tables follows what the jobs remove. */
export class HowLongItIsKept1700000000095 extends ForwardOnlyMigration {
  readonly name = 'HowLongItIsKept1700000000095';

  protected readonly sql = `
    ${keptFor('api_keys', 'until 500 of the organization have ended after it and another is made; of a session of the console 30 days after its end')}
    ${keptFor('operator_keys', 'as long as the installation; of a session of the console 30 days after its end')}
    ${keptFor('console_sessions', 'until the sign-out; after its end (12 hours) until anyone signs in')}
    ${keptFor('console_links', 'until it is used; after its end (15 minutes) until anyone signs in')}
    ${keptFor('removed_domains', 'as long as the organization, or until the domain is added again')}
    ${keptFor('test_usage', 'two days; the count of the domain’s lifetime as long as the organization')}
    ${keptFor('feedback_reports', REPORTS)}
    ${keptFor('inbound_usage', 'as long as the organization')}
    ${keptFor('mailbox_messages', 'local mode only: the newest, up to 1,100 and 200 MB')}
    ${keptFor('throttle_hits', 'the window: a day at most')}
    ${keptFor('egress_addresses', 'as long as the installation')}
    ${keptFor('job_leases', 'until the run ends; after a crash until the next run')}
    ${commentOn('feedback_reports', REPORTS, {
      mailbox: 'none: fbl, dmarc, tls-reports, postmaster or abuse',
      raw: 'content: the message as it came; emptied once it has been read, except to postmaster and abuse',
    })}
    ${commentOn('deliveries', 'until the delivery has ended: four days at most after it was due', {
      state: 'none: waiting, ready, claimed or held',
    })}
  `;
}
