import { ALTERNATING_SELECTORS } from '../wanted-records';

const NUMBERED = /^wb(\d+)$/;

/** The name of a domain's very first key, whoever publishes it. */
export const FIRST_SELECTOR = ALTERNATING_SELECTORS[0];

/**
 * The selector of a new key. In a delegated zone the one of the two that is free; otherwise one that the domain has not
 * had before, because a resolver anywhere may still remember what an earlier one said.
 * @param taken the selectors of all keys of the domain
 * @returns undefined when both of the two are taken
 */
export function nextSelector(taken: readonly string[], isDelegated: boolean): string | undefined {
  if (isDelegated) return ALTERNATING_SELECTORS.find((selector) => !taken.includes(selector));
  const numbers = taken.map((selector) => Number(NUMBERED.exec(selector)?.[1] ?? 0));
  return `wb${Math.max(0, ...numbers) + 1}`;
}
