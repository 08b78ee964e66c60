import { useCallback } from 'react';
import { useLocation } from 'wouter';
// As it is in the address: the router's own decodes it, and what is parsed after that is decoded twice.
import { useSearch } from 'wouter/use-browser-location';

interface HowToChange {
  /** Without a step that “Back” undoes. */
  readonly replace?: boolean;
}

/**
 * A part of the path that was written by `encodeURIComponent`: the router decodes it as a whole address, in which a sign such as `@` stays
 * encoded.
 */
export function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The filters of a list, kept in the address: links to it show the same, and “Back” undoes the last change. */
export function useFilters<Name extends string>(names: readonly Name[]) {
  const search = useSearch();
  const [path, navigate] = useLocation();
  const params = new URLSearchParams(search);
  const filters = Object.fromEntries(names.map((name) => [name, params.get(name) ?? ''])) as Record<Name, string>;
  const change = useCallback(
    (changes: Partial<Record<Name, string>>, { replace = false }: HowToChange = {}) => {
      const next = new URLSearchParams(search);
      for (const [name, value] of Object.entries<string | undefined>(changes)) {
        if (value) next.set(name, value);
        else next.delete(name);
      }
      const text = next.toString();
      // The same filter again is no step.
      if (text === new URLSearchParams(search).toString()) return;
      navigate(text === '' ? path : `${path}?${text}`, { replace });
    },
    [search, path, navigate],
  );
  return [filters, change] as const;
}
