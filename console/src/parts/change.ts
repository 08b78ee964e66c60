import { type QueryKey, useQueryClient } from '@tanstack/react-query';
import { useLocation } from 'wouter';
import { useToast } from './toast';

export interface Aftermath {
  /** Names of the queries whose results are outdated. */
  readonly refresh: readonly string[];
  readonly said?: string;
}

/** Makes a change, loads the queries that show it again, and shows a message. @throws errors of the work */
export function useChange() {
  const client = useQueryClient();
  const toast = useToast();
  return async <Result>(work: Promise<Result>, { refresh, said }: Aftermath): Promise<Result> => {
    const result = await work;
    await Promise.all(refresh.map((name) => client.invalidateQueries({ queryKey: [name] })));
    if (said !== undefined) toast(said);
    return result;
  };
}

export interface Removal extends Aftermath {
  /** The page to go to, as there is nothing on this one any more. */
  readonly to: string;
  /** What is kept of the deleted object: going back must not show it. */
  readonly gone: readonly QueryKey[];
}

/** Deletes the object that a page is about, and leaves the page. @throws errors of the work */
export function useRemoval() {
  const client = useQueryClient();
  const change = useChange();
  const [, navigate] = useLocation();
  return async (work: Promise<unknown>, { to, gone, ...aftermath }: Removal): Promise<void> => {
    await change(work, aftermath);
    navigate(to);
    // Once the page is left: it would otherwise ask for the object again.
    for (const queryKey of gone) client.removeQueries({ queryKey });
  };
}
