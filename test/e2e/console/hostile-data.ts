import { insertInboundEmail } from '../../factories/inbound-emails';
import type { ConsoleScene } from './console-scene';

/** What comes from outside, as bad as it may come. */
const HOSTILE = [
  '<script>window.pwned = 1</script>',
  '"><img src=x onerror="window.pwned = 1">',
  "'-alert(1)-'</title></textarea></iframe><svg onload=window.pwned=1>",
  'javascript:window.pwned=1',
  '{{constructor.constructor("window.pwned=1")()}}${window.pwned=1}',
  '\u202Egpj.exe\u202C \u0007 \u{1F4A9}',
  `${'very-long-'.repeat(60)}word`,
];
/** In tables and heads no longer than a subject may be. */
export const SUBJECT = HOSTILE.slice(0, 5).join(' ');

/** Mail, replies, webhooks and names from outside; returns the paths of the objects with their own pages. */
export async function hostileData(scene: ConsoleScene): Promise<string[]> {
  const api = scene.api();
  const id = await api.send({
    ...{
      from: { email: 'hello@acme.example', name: SUBJECT.slice(0, 200) },
      to: ['ada@example.com'],
      subject: SUBJECT,
    },
    ...{
      html: HOSTILE.join(''),
      text: HOSTILE.join('\n'),
      tags: [HOSTILE[0]?.slice(0, 90)],
      metadata: { evil: HOSTILE[1] },
    },
    headers: { 'X-Evil': HOSTILE[0] },
    attachments: [{ filename: `${HOSTILE[1]?.replaceAll('"', "'")}.pdf`, content: 'aGVsbG8=' }],
  });
  await api.waitForStatus(id, 'delivered');
  const evil = SUBJECT.slice(0, 300);
  const { organizationId } = scene.acme;
  for (const statement of [
    `update organizations set name = $1 where id = '${organizationId}'`,
    `update email_recipients set last_response = $1 where organization_id = '${organizationId}'`,
    `update email_events set data = data || jsonb_build_object('response', $1::text, 'url', $1::text) where organization_id = '${organizationId}'`,
    `update api_keys set name = left($1, 100) where organization_id = '${organizationId}'`,
  ]) {
    await scene.db.query(statement, [evil]);
  }
  await api.post('/v1/suppressions', { email: 'x@x.example', reason: 'manual', notes: evil });
  const webhook = await api.post('/v1/webhooks', {
    ...{ url: 'https://hooks.example.com/a', events: ['*'], description: evil.slice(0, 250) },
  });
  const [delivery] = await scene.db.query<{ id: string }>(
    `insert into webhook_messages
       (organization_id, mode, endpoint_id, id, event_type, state, attempts, last_status, last_error, last_answer,
        created_at, next_attempt_at)
     select organization_id, mode, id, gen_random_uuid(), 'delivered', 'failed', 3, 500, $1, $2, now(), now()
     from webhook_endpoints where id = $3
     returning id`,
    [evil, { headers: { server: evil }, body: HOSTILE.join(''), isCut: true, durationMs: 1 }, webhook.body.data.id],
  );
  const template = await api.post('/v1/templates', { name: 'evil', subject: 'Hello', html: HOSTILE[0] });
  return [
    `/emails/${id}`,
    `/domains/${scene.acme.domainId}`,
    `/webhooks/${webhook.body.data.id}`,
    `/webhooks/${webhook.body.data.id}?delivery=${delivery?.id}`,
    `/templates/${template.body.data.id}`,
    `/inbound/${await hostileMail(scene, evil)}`,
  ];
}

/** What an outside sender has sent to a route. */
async function hostileMail(scene: ConsoleScene, evil: string): Promise<string> {
  const { organizationId, domainId } = scene.acme;
  await scene.api().post('/v1/inbound-routes', { address: '*@acme.example' });
  const id = await insertInboundEmail(scene.db, { organizationId, domainId });
  const shown = `jsonb_build_object('subject', $1::text, 'from', $1::text, 'messageId', $1::text)`;
  await scene.db.query(`update inbound_emails set data = data || ${shown} where id = '${id}'`, [evil]);
  const message = `X-Evil: ${HOSTILE[0]}\r\nContent-Type: text/html; charset=utf-8\r\n\r\n${HOSTILE.join('')}`;
  await scene.db.query(`update inbound_email_parts set content = $1 where email_id = '${id}'`, [Buffer.from(message)]);
  return id;
}

/** A rule whose cause is hostile, and an organization that waits with a hostile reply. */
export async function hostileDestination(scene: ConsoleScene, key: string): Promise<void> {
  const changed = await scene.api(key).call('PATCH', '/operator/v1/destinations/mx1.evil.example', {
    ...{ paused: true, maxConnections: 3, reason: SUBJECT.slice(0, 400) },
  });
  if (changed.status !== 200) throw new Error(JSON.stringify(changed.body));
  const scheduledAt = new Date(Date.now() + 86_400_000).toISOString();
  await scene.api().send({ from: 'hello@acme.example', to: ['ada@evil.example'], subject: SUBJECT, scheduledAt });
}
