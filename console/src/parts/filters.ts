import { useCallback } from 'react';
import { useLocation, useSearch } from 'wouter';

/** The filters of a list, kept in the address: links to it show the same, and so does going back. */
export function useFilters<Name extends string>(names: readonly Name[]) {
  const search = useSearch();
  const [path, navigate] = useLocation();
  const params = new URLSearchParams(search);
  const filters = Object.fromEntries(names.map((name) => [name, params.get(name) ?? ''])) as Record<Name, string>;
  const change = useCallback(
    (changes: Partial<Record<Name, string>>) => {
      const next = new URLSearchParams(search);
      for (const [name, value] of Object.entries<string | undefined>(changes)) {
        if (value) next.set(name, value);
        else next.delete(name);
      }
      const text = next.toString();
      navigate(text === '' ? path : `${path}?${text}`, { replace: true });
    },
    [search, path, navigate],
  );
  return [filters, change] as const;
}
