import { ValidationError } from '../../common/errors/app-error';

export const TEMPLATE_NAME = /^[a-z0-9-]{1,64}$/;
/** Of the column. */
export const MAX_VERSION = 2_147_483_647;
export const MAX_VARIABLES_BYTES = 256 * 1024;

/** JSON of what is filled in. @throws ValidationError when it is too long */
export function variablesJson(variables: Record<string, unknown>): string {
  const json = JSON.stringify(variables);
  if (Buffer.byteLength(json) <= MAX_VARIABLES_BYTES) return json;
  throw new ValidationError({ variables: [`variables must be at most ${MAX_VARIABLES_BYTES} bytes of JSON`] });
}
