import { setTimeout as delay } from 'node:timers/promises';

/** For a busy machine: what is stuck stays stuck. */
const LEAST_SECONDS = 240;
const LEASES = 6;
const LOOK_MS = 250;
const HURRY_MS = 1_000;
/** A run with leases of this length or longer is long enough to wait for everything but retries. */
const WHOLE_LEASE_SECONDS = 30;

const WORK_LEFT = `
  select exists (select from deliveries)
    or exists (select from webhook_messages where state in ('pending', 'sending'))
    or exists (
      select from webhook_endpoints w
      join email_events v on (v.organization_id, v.mode) = (w.organization_id, w.mode) and v.id > w.position
    ) as "isLeft"`;
// The later steps of the schedules are minutes and hours.
const RETRY_MAIL = `update deliveries set due_at = now() where state = 'waiting' and due_at > now()`;
const RETRY_WEBHOOKS = `
  update webhook_messages set next_attempt_at = now() where state = 'pending' and next_attempt_at > now()`;
const FREE_WEBHOOKS = `
  update webhook_messages set claimed_until = now()
  where state = 'sending' and last_attempt_at < now() - interval '3 s'`;

/**
 * Waits until the queue is empty and every webhook has been sent, or for as long as is reasonable. What waits for a later
 * attempt is due now; in a short run the webhooks of dead workers as well, which the service frees after a minute.
 */
export async function drain(database, { leaseSeconds }) {
  const statements = [RETRY_MAIL, RETRY_WEBHOOKS, ...(leaseSeconds < WHOLE_LEASE_SECONDS ? [FREE_WEBHOOKS] : [])];
  const until = performance.now() + Math.max(LEAST_SECONDS, LEASES * leaseSeconds) * 1_000;
  for (let hurryAt = 0; performance.now() < until; await delay(LOOK_MS)) {
    if (performance.now() > hurryAt) {
      for (const statement of statements) await database.rows(statement);
      hurryAt = performance.now() + HURRY_MS;
    }
    const [{ isLeft }] = await database.rows(WORK_LEFT);
    if (!isLeft) return;
  }
}
