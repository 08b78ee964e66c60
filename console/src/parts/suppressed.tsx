import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { get } from '../api/client';
import { useMay } from '../api/session';
import type { Data, SuppressionCheck } from '../api/types';
import { words } from './format';
import { useRights } from './rights';
import { Foreign } from './text';

const WHY: Readonly<Record<string, string>> = {
  spam_complaint: 'its owner reported mail as spam',
  hard_bounce: 'its server said that it does not exist',
  blocklist: 'the operator keeps it there',
  manual: 'it was added by hand',
  unsubscribe: 'its owner has unsubscribed',
  soft_bounce: 'it bounced repeatedly; the entry expires automatically',
};

/** Says of an address that it is on the suppression list: mail to it is refused at the send, or left out, so that no email shows it. */
export function Suppressed({ email, isNotice = false }: { email: string; isNotice?: boolean }) {
  const may = useMay();
  const rights = useRights();
  const query = useQuery({
    queryKey: ['suppressions', 'check', email],
    queryFn: ({ signal }) => get<Data<SuppressionCheck>>('/v1/suppressions/check', { email }, signal),
    enabled: may('suppression:read'),
  });
  const found = query.data?.data;
  if (!found?.suppressed) return null;
  const { reason = '' } = found;
  const said = (
    <p className="break">
      <Foreign>{email}</Foreign> is on the suppression list, because {WHY[reason] ?? words(reason)}:{' '}
      {reason === 'unsubscribe' ? 'only transactional mail is sent to it.' : 'no mail is sent to it.'}{' '}
      {rights('suppression:read') && (
        <Link href={`/suppressions?email=${encodeURIComponent(email)}`}>See its entries</Link>
      )}
    </p>
  );
  return isNotice ? <section className="notice warn">{said}</section> : said;
}
