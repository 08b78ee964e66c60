import pg from 'pg';
import { load } from './product.mjs';

/**
 * Writes accepted emails directly into the database, with the product's own statements. Bodies are parsed once; only ids
 * are created for each email.
 */
export class DirectInserts {
  constructor({ url, connections, tenant }) {
    this.pool = new pg.Pool({ connectionString: url, max: connections });
    // When a run fails, the server may end before its clients.
    this.pool.on('error', () => undefined);
    this.connections = connections;
    this.tenant = tenant;
    this.statements = {
      ...load('./modules/emails/accept/commit/sql/insert-emails.sql.js'),
      ...load('./delivery/queue/sql/open-deliveries.sql.js'),
      ...load('./modules/stats/sql/write-counters.sql.js'),
      ...load('./modules/stats/stat-delta.js'),
    };
  }

  /** Runs transactions of all `bodies` on every connection for the given time. */
  async runFor(bodies, seconds) {
    const commands = this.parse(bodies);
    const begin = performance.now();
    const until = begin + seconds * 1_000;
    let count = 0;
    const runConnection = async () => {
      while (performance.now() < until) {
        await this.insert(this.toEmails(commands), { enqueue: true });
        count += commands.length;
      }
    };
    await Promise.all(Array.from({ length: this.connections }, runConnection));
    return { count, seconds: (performance.now() - begin) / 1_000 };
  }

  /** Converts the bodies as `POST /v1/emails` does before it writes. */
  parse(bodies) {
    const { parseSendRequest } = load('./modules/emails/accept/request/parse-send-request.js');
    const { organizationId, domain } = this.tenant;
    return bodies.map((body) => {
      const { request } = parseSendRequest(body, new Date());
      return {
        kind: 'command',
        organizationId,
        mode: 'live',
        domain,
        request,
        trackByDefault: { opens: false, clicks: false },
      };
    });
  }

  toEmails(commands) {
    const { newId } = load('./common/ids.js');
    return commands.map((command) => ({
      id: newId(),
      command,
      recipients: command.request.recipients,
      suppressed: [],
    }));
  }

  /** One transaction. @param enqueue false: the emails are stored but not yet queued */
  async insert(emails, { enqueue }) {
    const { insertEmails, enqueueDeliveries, appendDeltas, sumDeltas } = this.statements;
    const now = new Date();
    const statements = [
      insertEmails(emails, now, new Map()),
      ...(enqueue
        ? [
            enqueueDeliveries(
              emails.flatMap((email) => this.deliveriesOf(email, now)),
              now,
            ),
          ]
        : []),
      appendDeltas(sumDeltas(this.deltasOf(emails, now))),
    ];
    await this.transaction(statements);
  }

  /** Enqueues emails that have been inserted, all at once. */
  async enqueue(emails) {
    const now = new Date();
    const rows = emails.flatMap((email) => this.deliveriesOf(email, now));
    const chunks = Array.from({ length: Math.ceil(rows.length / 1_000) }, (_, index) =>
      rows.slice(index * 1_000, (index + 1) * 1_000),
    );
    await this.transaction(chunks.map((chunk) => this.statements.enqueueDeliveries(chunk, now)));
  }

  async transaction(statements) {
    const client = await this.pool.connect();
    try {
      await client.query('begin');
      for (const { name, text, values } of statements) await client.query({ name, text, values });
      await client.query('commit');
    } finally {
      client.release();
    }
  }

  deliveriesOf({ id, command, recipients }, now) {
    const { organizationId, mode, domain, request } = command;
    return recipients.map(({ email }, position) => ({
      organizationId,
      mode,
      emailId: id,
      position,
      domainId: domain.id,
      recipient: email,
      destination: email.slice(email.indexOf('@') + 1),
      category: request.category,
      dueAt: now,
      expiresAt: null,
    }));
  }

  deltasOf(emails, occurredAt) {
    const { organizationId, domain } = this.tenant;
    const owner = { organizationId, mode: 'live', domainId: domain.id, occurredAt };
    const recipients = emails.reduce((sum, email) => sum + email.recipients.length, 0);
    return [
      { ...owner, counter: 'emails', by: emails.length },
      { ...owner, counter: 'accepted', by: recipients },
    ];
  }

  close() {
    return this.pool.end();
  }
}
