import { words } from './format';

/** Who has done what stands in the audit log; keys that are not the reader's own are known by their id only. */
export function whoActed(
  actor: string,
  own: { readonly id: string; readonly name: string },
): { who: string; id?: string } {
  if (actor === 'system') return { who: 'The service itself' };
  if (actor === 'operator') return { who: 'The command line' };
  const isOperator = actor.startsWith('operator:');
  const id = isOperator ? actor.slice('operator:'.length) : actor;
  if (id === own.id) return { who: `${own.name} (this key)` };
  return { who: isOperator ? 'Operator key' : 'API key', id };
}

/** What an entry tells besides, by its names. */
export const detailsOf = (details: object): (readonly [name: string, value: string])[] =>
  Object.entries(details).map(([name, value]) => [
    words(name.replaceAll(/([a-z])([A-Z])/g, '$1_$2').toLowerCase()),
    typeof value === 'string' ? value : JSON.stringify(value),
  ]);
