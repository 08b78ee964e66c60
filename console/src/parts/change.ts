import { useQueryClient } from '@tanstack/react-query';
import { useToast } from './toast';

export interface Aftermath {
  /** Names of the queries whose answers are not true any more. */
  readonly refresh: readonly string[];
  readonly said?: string;
}

/** What changes something: it is done, what shows it is asked for again, and it is said. @throws what the work throws */
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
