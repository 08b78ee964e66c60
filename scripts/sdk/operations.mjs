export const METHODS = ['get', 'put', 'post', 'delete', 'patch'];

/** Controllers are named by what they do there; a client's user looks for these. */
const NAMES = { detail: 'get', add: 'create', change: 'update', remove: 'delete', sendBatch: 'batch' };
/** Several controllers that are one resource. */
const RESOURCES = { sendEmails: 'emails', webhookDeliveries: 'webhooks' };

/** `emails.sendBatch` → resource `emails`, method `batch` */
export function namesOf(operationId) {
  const [resource, name] = operationId.split('.');
  return { resource: RESOURCES[resource] ?? resource, name: NAMES[name] ?? name };
}
