interface ErrorDescription {
  type: string;
  message: string;
  stack?: string;
  cause?: ErrorDescription;
  code?: unknown;
  table?: unknown;
  constraint?: unknown;
}

const MAX_CAUSES = 4;

/**
 * What the log says of an error: only these properties. Drivers attach the parameters of a failed query to their errors,
 * and those are addresses and bodies.
 */
export function describeError(error: unknown, causesLeft = MAX_CAUSES): ErrorDescription {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error) };
  const { code, table, constraint } = error as { code?: unknown; table?: unknown; constraint?: unknown };
  return {
    type: error.name,
    message: error.message,
    ...(error.stack !== undefined && { stack: error.stack }),
    ...(code !== undefined && { code }),
    ...(table !== undefined && { table }),
    ...(constraint !== undefined && { constraint }),
    ...(error.cause !== undefined && causesLeft > 0 && { cause: describeError(error.cause, causesLeft - 1) }),
  };
}

/** Names of fields whose values never belong in a log, in any case. */
const SECRETS = new Set([
  'authorization',
  'cookie',
  'password',
  'secret',
  'token',
  'key',
  'apikey',
  'privatekey',
  'masterkey',
  'previousmasterkey',
  'html',
  'text',
  'subject',
  'content',
]);

const MASK = '[redacted]';
/** Deeper objects are not logged on purpose by anything here; they are cut off. */
const MAX_DEPTH = 4;

/** A copy of `fields` with secrets masked, or `fields` itself when nothing needs masking. Errors pass unchanged. */
export function redacted(fields: Record<string, unknown>): Record<string, unknown> {
  return masked(fields, 0);
}

function masked(fields: Record<string, unknown>, depth: number): Record<string, unknown> {
  let copy: Record<string, unknown> | undefined;
  for (const name in fields) {
    const value = fields[name];
    const clean = SECRETS.has(name) || SECRETS.has(name.toLowerCase()) ? MASK : cleaned(value, depth + 1);
    if (clean === value) continue;
    copy ??= { ...fields };
    copy[name] = clean;
  }
  return copy ?? fields;
}

function cleaned(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null || value instanceof Error || Array.isArray(value)) return value;
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  return depth > MAX_DEPTH ? '[deep]' : masked(value as Record<string, unknown>, depth);
}
