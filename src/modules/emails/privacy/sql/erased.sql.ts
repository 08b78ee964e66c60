// Parts that the erasing statements share; no statement by itself.
import type { AddressFinder } from '../../../../common/erasure/address-finder';
import { LOWER_DOTTED_I } from '../../../../common/mail-address';
import type { Mode } from '../../../../common/tenant';

/** The data subject of an erasure. */
export interface ErasedSubject {
  readonly organizationId: string;
  readonly mode: Mode;
  /** Lower-case forms of the address, with which stored addresses are compared. */
  readonly keys: readonly string[];
  /** Finds the address within texts. */
  readonly finder: AddressFinder;
}

/** SQL: the form of a stored address that is one of the subject's keys if it is the subject's, see `lowerForms`. */
export const subjectKeyOf = (address: string): string => `lower(replace(${address}, 'İ', '${LOWER_DOTTED_I}'))`;

/** SQL: matches the placeholder of an erased recipient; see `isErased`. */
export const IS_PLACEHOLDER = `like 'erased-%@erased.invalid'`;
