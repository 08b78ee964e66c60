export const METHODS = ['get', 'put', 'post', 'delete', 'patch'];

/** Controllers are named by their task; users of a client expect these names. */
const NAMES = { detail: 'get', add: 'create', change: 'update', remove: 'delete', sendBatch: 'batch' };
/** Several controllers that are one resource. */
const RESOURCES = { sendEmails: 'emails', webhookDeliveries: 'webhooks' };

/** `emails.sendBatch` → resource `emails`, method `batch` */
export function namesOf(operationId) {
  const [resource, name] = operationId.split('.');
  return { resource: RESOURCES[resource] ?? resource, name: NAMES[name] ?? name };
}
