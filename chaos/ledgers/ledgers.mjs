// What each side has recorded, independently of the service's own data. Times are of one monotonic clock, in ms.

/** Emails with a 202, and how often a request was repeated. */
export class ClientLedger {
  /** By the message's number: `{id, tenant, at, message}`. */
  acceptances = new Map();
  refusals = [];
  repetitions = {};

  accepted(message, tenant, id) {
    this.acceptances.set(message.n, { id, tenant, at: performance.now(), message });
  }

  refused(message, tenant, reason) {
    this.refusals.push({ n: message.n, tenant, reason });
  }

  repeated(status = 'no answer') {
    this.repetitions[status] = (this.repetitions[status] ?? 0) + 1;
  }
}

/** Mail at the receiving servers: every message whose final dot was read, and which of them got a 250. */
export class SinkLedger {
  /** By address: `{messageId, client, dotAt, answeredAt}` each, in order of arrival. */
  copies = new Map();
  #listeners = [];
  #dotWaiters = new Map();

  received({ recipients, messageId, client, dotAt }) {
    this.#dotWaiters.get(client)?.();
    return recipients.map((address) => {
      const copy = { address, messageId, client, dotAt, answeredAt: undefined };
      const copies = this.copies.get(address);
      if (copies) copies.push(copy);
      else this.copies.set(address, [copy]);
      return copy;
    });
  }

  answered(copies) {
    for (const copy of copies) {
      copy.answeredAt = performance.now();
      for (const listener of this.#listeners) listener(copy);
    }
  }

  /** Resolves when the next final dot of that worker has been read, and before it is replied to. */
  async nextDot(client) {
    await new Promise((resolve) => this.#dotWaiters.set(client, resolve));
    this.#dotWaiters.delete(client);
  }

  onAnswered(listener) {
    this.#listeners.push(listener);
  }

  /** Copies with a 250, in order. */
  taken(address) {
    return (this.copies.get(address) ?? []).filter(({ answeredAt }) => answeredAt !== undefined);
  }

  /** Messages of that worker whose final dot was written by then, and to which no reply had gone out. */
  pastTheDot(client, at) {
    const isPast = (copy) => copy.client === client && (copy.answeredAt ?? Infinity) >= at;
    return [...this.copies.values()].flat().filter(isPast).length;
  }
}

/** Which events came to the customers' receiver. */
export class WebhookLedger {
  #events = new Map();
  requests = 0;

  received(tenant, eventId) {
    this.requests += 1;
    const events = this.#events.get(tenant);
    if (events) events.add(eventId);
    else this.#events.set(tenant, new Set([eventId]));
  }

  has(tenant, eventId) {
    return this.#events.get(tenant)?.has(eventId) === true;
  }
}
