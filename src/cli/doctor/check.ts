import { toErrorReport } from '../cli-error';

/** `warning`: worth knowing, but nothing is wrong. `skipped`: could not be looked at because of another problem. */
export type CheckStatus = 'ok' | 'warning' | 'problem' | 'skipped';

export interface Finding {
  readonly status: CheckStatus;
  readonly message: string;
  /** The facts behind the message, for programs. */
  readonly details?: Record<string, unknown>;
}

export interface Check extends Finding {
  readonly name: string;
}

export function ok(message: string, details?: Record<string, unknown>): Finding {
  return { status: 'ok', message, ...(details && { details }) };
}

/** Looks at one thing. A look that fails is a problem too, and must not keep the others from being taken. */
export async function examine(name: string, look: () => Finding | Promise<Finding>): Promise<Check> {
  try {
    return { name, ...(await look()) };
  } catch (error) {
    return { name, status: 'problem', message: toErrorReport(error).message };
  }
}

/** The first status whose limit the value has reached; `ok` below all of them. */
export function statusAt(value: number, limits: { readonly warning: number; readonly problem: number }): CheckStatus {
  if (value >= limits.problem) return 'problem';
  return value >= limits.warning ? 'warning' : 'ok';
}
