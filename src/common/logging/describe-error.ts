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
