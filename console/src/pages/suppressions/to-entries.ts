import { parseCsv } from '../../parts/csv';

export interface Entry {
  readonly email: string;
  readonly reason: string;
  readonly notes?: string;
}

/** Lines of address, reason and notes; a first line that names its columns may put them in another order. */
export function toEntries(text: string): Entry[] {
  const rows = parseCsv(text);
  const heads = rows[0]?.map((head) => head.toLowerCase()) ?? [];
  const hasHeads = heads.includes('email') || heads.includes('address');
  const at = (name: string, otherwise: number) => (hasHeads ? heads.indexOf(name) : otherwise);
  const [email, reason, notes] = [
    Math.max(at('email', 0), hasHeads ? heads.indexOf('address') : -1),
    at('reason', 1),
    at('notes', 2),
  ];
  return (hasHeads ? rows.slice(1) : rows).map((row) => ({
    email: row[email] ?? '',
    reason: row[reason] === 'unsubscribe' ? 'unsubscribe' : 'manual',
    ...(row[notes] && { notes: row[notes].slice(0, 500) }),
  }));
}
