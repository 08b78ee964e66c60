import { type QueryKey, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
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

/** Goes to the page of what a request has made, unless the user has gone elsewhere meanwhile. */
export function useGoOn(): (to: string) => void {
  const [, navigate] = useLocation();
  const isHere = useRef(false);
  useEffect(() => {
    isHere.current = true;
    return () => {
      isHere.current = false;
    };
  }, []);
  return (to) => {
    if (isHere.current) navigate(to);
  };
}

/** Deletes the object that a page is about, and leaves the page. @throws errors of the work */
export function useRemoval() {
  const client = useQueryClient();
  const change = useChange();
  const goOn = useGoOn();
  return async (work: Promise<unknown>, { to, gone, ...aftermath }: Removal): Promise<void> => {
    await change(work, aftermath);
    goOn(to);
    // Once the page is left: it would otherwise ask for the object again.
    for (const queryKey of gone) client.removeQueries({ queryKey });
  };
}
