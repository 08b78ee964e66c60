import type { OpenAPIObject } from '@nestjs/swagger';
import { EVENT_TYPES, type EventType, INBOUND_RECEIVED } from '../common/event-types';
import type { Schema } from './document';

const DESCRIPTION = `Sent to the endpoints that are subscribed to it, signed as Standard Webhooks 1.0 defines
(\`webhook-id\`, \`webhook-timestamp\`, \`webhook-signature\`). Any 2xx response ends it; everything else is tried again.`;

const text = { type: 'string' };
const time = { type: 'string', format: 'date-time' };
const id = { type: 'string', format: 'uuid' };

/** Fields of the events of emails, whatever their type. */
const EVENT_DATA: Schema = {
  type: 'object',
  required: ['eventId', 'emailId', 'domainId', 'sequence', 'eventType', 'source'],
  properties: {
    eventId: { ...id, description: 'The same in every attempt' },
    emailId: id,
    domainId: id,
    sequence: { type: 'integer', minimum: 1, description: "Counts the email's events" },
    eventType: { type: 'string', enum: [...EVENT_TYPES] },
    source: { ...text, description: 'What recorded it' },
    recipient: { type: 'string', format: 'idn-email', description: 'Where the event is about one' },
    tags: { type: 'array', items: text },
    metadata: { type: 'object', additionalProperties: true },
  },
  additionalProperties: true,
};

const texts = { type: 'array', items: text };
const flag = { type: 'boolean' };
const count = { type: 'integer' };
const bounceType = { type: 'string', enum: ['hard', 'soft'] };

/** What an attempt's event says; an erasure takes the texts away. */
const ATTEMPT = {
  attempt: count,
  ...{
    code: count,
    enhancedCode: text,
    response: { ...text, description: 'The last line of the reply' },
    lines: texts,
  },
  ...{ mxHost: text, tls: flag, ruleId: text, class: text },
};
const ENDED = { ...ATTEMPT, reason: text, explanation: { ...text, description: 'Why, in plain words' } };
const DELAYED = { ...ENDED, nextAttemptAt: time };
const BOUNCED = { ...ENDED, bounceType, countsAgainstSender: flag };
const HIT = { automated: flag, automatedReason: text, userAgent: text, ip: text, proxy: text };

/** Fields that only the events of a type have, none of them always. */
const DATA_OF: Partial<Record<EventType, Schema>> = {
  scheduled: { scheduledAt: time },
  ...{ sending: { attempt: count }, sent: ATTEMPT, delivered: ATTEMPT, deferred: DELAYED, unknown: DELAYED },
  ...{ bounced: BOUNCED, hard_bounce: BOUNCED, soft_bounce: BOUNCED, blocked: ENDED, failed: ENDED, cancelled: ENDED },
  ...{ opened: HIT, clicked: { ...HIT, url: text } },
  unsubscribed: { method: text },
  spam_report: { feedbackType: text, reportingSystem: text },
};
const method: Schema = {
  type: 'object',
  required: ['result'],
  properties: { result: text, domain: text, selector: text, policy: text },
};

/** Fields of `inbound.received`; the bodies of the mail are read under `/v1/inbound-emails`. */
const INBOUND_DATA: Schema = {
  type: 'object',
  required: [
    ...['eventId', 'inboundEmailId', 'domainId', 'routeId', 'eventType', 'source', 'envelope', 'from', 'to', 'cc'],
    ...['subject', 'messageId', 'references', 'marks', 'authentication', 'sizeBytes'],
  ],
  properties: {
    eventId: { ...id, description: 'The same in every attempt' },
    ...{ inboundEmailId: id, domainId: id, routeId: id },
    eventType: { type: 'string', enum: [INBOUND_RECEIVED] },
    source: { ...text, description: 'What recorded it' },
    envelope: { type: 'object', required: ['from', 'to'], properties: { from: text, to: texts } },
    ...{ from: text, to: texts, cc: texts, subject: text },
    messageId: { type: ['string', 'null'] },
    ...{ inReplyTo: text, references: texts, marks: texts },
    authentication: {
      type: 'object',
      required: ['spf', 'dkim', 'dmarc'],
      properties: { spf: method, dkim: { type: 'array', items: method }, dmarc: method, arc: method },
    },
    sizeBytes: { type: 'integer' },
  },
  additionalProperties: true,
};

function payloadOf(type: string, data: Schema): Schema {
  return {
    type: 'object',
    required: ['type', 'timestamp', 'data'],
    properties: {
      type: { type: 'string', const: type },
      timestamp: { ...time, description: 'When it happened' },
      data,
    },
  };
}

function describe(type: string, data: Schema) {
  const name = type.replace('.', '_');
  return {
    post: {
      operationId: `webhooks.${name}`,
      summary: `The event ${type}`,
      description: DESCRIPTION,
      tags: ['Webhooks'],
      security: [],
      requestBody: { required: true, content: { 'application/json': { schema: data } } },
      responses: {
        '2XX': { description: 'Received' },
        '4XX': { description: 'Tried again; 410 disables the endpoint' },
      },
    },
  };
}

/** The `webhooks` section of the document: one entry for each event type that the service sends. */
export function describeWebhooks(): NonNullable<OpenAPIObject['webhooks']> {
  const events = EVENT_TYPES.map((type) => {
    const eventType = { ...(EVENT_DATA.properties as Record<string, Schema>).eventType, enum: [type] };
    const properties = { ...(EVENT_DATA.properties as Schema), eventType, ...DATA_OF[type] };
    return [`email.${type}`, { ...EVENT_DATA, properties }] as const;
  });
  const test = {
    type: 'object',
    required: ['webhookId'],
    properties: { webhookId: { ...id, description: 'The endpoint that is tested' } },
  };
  const all: (readonly [string, Schema])[] = [...events, [INBOUND_RECEIVED, INBOUND_DATA], ['webhook.test', test]];
  return Object.fromEntries(all.map(([type, data]) => [type, describe(type, payloadOf(type, data))]));
}
