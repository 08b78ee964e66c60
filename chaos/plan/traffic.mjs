import { KINDS } from './destinations.mjs';

/** The first sends little and only to good servers: its delay beside the others shows the fairness. */
export const QUIET = 0;
const QUIET_SHARE = 0.01;
/** These two send a half of everything, in large batches. */
const NOISY = [1, 2];
const NOISY_SHARE = 0.5;
const SECOND_RECIPIENT = 0.08;
/** Of a tenant's recipients so far, a hundred at least: above that, the service slows the tenant's domain. */
const MOST_BOUNCES = 0.05;
const LEAST_RECIPIENTS = 100;
const PARAGRAPH = 'Thank you for your order. We will write again as soon as it is on its way. ';

/** Which requests tenants make, in order of time: `{at, key, tenant, messages}`, a message is `{n, subject, to, …}`. */
export function makeRequests(random, { messages, seconds, tenants, poison, destinations }) {
  const byKind = groupByKind(destinations);
  const sent = Array.from({ length: tenants }, () => ({ recipients: 0, bounces: 0 }));
  const requests = [];
  for (let n = 0; n < messages;) {
    const tenant = drawTenant(random, tenants);
    const count = Math.min(batchSize(random, tenant), messages - n);
    const at = Math.min(seconds, Math.max(0, ((n + random.between(-count, count)) / messages) * seconds));
    const index = requests.length;
    const key = `chaos-${index}`;
    requests.push({
      at,
      key,
      tenant,
      messages: Array.from({ length: count }, (_, offset) =>
        drawMessage(random, n + offset, { tenant, sent: sent[tenant] }, byKind),
      ),
    });
    n += count;
  }
  addPoison(random, requests, poison, byKind, messages);
  return requests.sort((one, other) => one.at - other.at);
}

function drawTenant(random, tenants) {
  const share = random.next();
  if (share < QUIET_SHARE) return QUIET;
  if (share < QUIET_SHARE + NOISY_SHARE) return random.pick(NOISY);
  return random.integer(NOISY.at(-1) + 1, tenants - 1);
}

function batchSize(random, tenant) {
  if (tenant === QUIET) return 1;
  if (NOISY.includes(tenant)) return random.integer(10, 50);
  return random.next() < 0.3 ? random.integer(2, 10) : 1;
}

/** @param sent how much its tenant has sent so far: counted on */
function drawMessage(random, n, { tenant, sent }, byKind) {
  const shares = Object.fromEntries(Object.keys(byKind).map((kind) => [kind, KINDS[kind].share]));
  const kind = tenant === QUIET ? 'ok' : bounded(random.weighted(shares), sent);
  const recipients = [recipient(random, `r${n}`, byKind[kind])];
  if (kind === 'ok' && tenant !== QUIET && random.next() < SECOND_RECIPIENT) {
    recipients.push(recipient(random, `s${n}`, byKind[random.pick(['ok', 'greylist'])]));
  }
  sent.recipients += recipients.length;
  const length = kind === 'slowread' ? random.integer(100_000, 200_000) : random.integer(1_500, 4_000);
  return { n, subject: `Order ${n}`, length, recipients };
}

/** What would be one bounce too many is refused for now instead. It takes as many draws, so that the rest of the plan stays. */
function bounded(kind, sent) {
  if (KINDS[kind].outcome !== 'bounced') return kind;
  const most = MOST_BOUNCES * Math.max(sent.recipients, LEAST_RECIPIENTS);
  if (sent.bounces + 1 > most) return 'greylist';
  sent.bounces += 1;
  return kind;
}

function recipient(random, local, servers) {
  const { kind, domain } = random.pick(servers);
  return { address: `${local}@${domain}`, kind };
}

/** Early, since finding one out takes five crashes and as many leases. */
function addPoison(random, requests, count, byKind, messages) {
  for (let index = 0; index < count; index += 1) {
    const { at, tenant } = requests[Math.floor(requests.length * random.between(0.02, 0.08))];
    const n = messages + index;
    const recipients = [{ ...recipient(random, `r${n}`, byKind.ok), kind: 'poison' }];
    const message = { n, subject: `${POISON_MARK} ${n}`, length: 1_500, recipients };
    requests.push({
      at,
      key: `chaos-poison-${index}`,
      tenant: tenant === QUIET ? NOISY[0] : tenant,
      messages: [message],
    });
  }
}

/** In the subject of a mail that ends the worker which composes it (processes/preload.cjs). */
export const POISON_MARK = 'chaos-poison';

/** The body of `POST /v1/emails`. */
export function toBody({ subject, length, recipients }) {
  const text = PARAGRAPH.repeat(Math.ceil(length / PARAGRAPH.length)).slice(0, length);
  return { to: recipients.map(({ address }) => address), subject, text };
}

function groupByKind(destinations) {
  const groups = {};
  for (const one of destinations) (groups[one.kind] ??= []).push(one);
  return groups;
}
