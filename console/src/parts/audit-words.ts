import { words } from './format';

/** The actor of an entry; keys that are not the reader's own are shown by their id. */
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

/** Further data of an entry, by its names. */
export const detailsOf = (details: object): (readonly [name: string, value: string])[] =>
  Object.entries(details).map(([name, value]) => [
    words(name.replaceAll(/([a-z])([A-Z])/g, '$1_$2').toLowerCase()),
    typeof value === 'string' ? value : JSON.stringify(value),
  ]);
