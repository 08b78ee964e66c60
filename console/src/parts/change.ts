import { useQueryClient } from '@tanstack/react-query';
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
