// Parts that the erasing statements share; no statement by itself.
import type { AddressFinder } from '../../../../common/erasure/address-finder';
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

/** SQL: matches the placeholder of an erased recipient; see `isErased`. */
export const IS_PLACEHOLDER = `like 'erased-%@erased.invalid'`;
