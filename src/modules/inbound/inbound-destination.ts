import type { PublicMailbox, ReportSubject } from './inbound-report.entity';
import type { RoutedRecipient } from './routed-reception';

/** What a recipient stands for: a return path of ours, a mailbox that anyone may write to, or the routes of organizations. */
export type Destination = ReportSubject | { readonly mailbox: PublicMailbox } | RoutedRecipient;

/** A message is taken for recipients of one kind: what one kind refuses at the end of the data must not refuse the others. */
export function kindOf(destination: Destination): 'public' | 'routed' | 'report' {
  if ('mailbox' in destination) return 'public';
  return 'routes' in destination ? 'routed' : 'report';
}

/** How many copies of a message are stored. */
export function copiesFor(destinations: readonly Destination[]): number {
  const copies = (to: Destination): unknown[] => ('routes' in to ? to.routes.map(({ routeId }) => routeId) : [to]);
  return new Set(destinations.flatMap(copies)).size;
}
