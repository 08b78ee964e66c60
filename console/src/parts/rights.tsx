import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { useMay, useSession } from '../api/session';
import { Page } from './page';
import { OF_ALL_DOMAINS, OF_LIVE_MAIL } from './reach';
import { NoPermission, Requires } from './states';

interface Reach {
  /** Whether it concerns all domains, though the scope's other actions may concern one. */
  readonly allDomains?: boolean;
}

/** Whether the key may use a scope. Its mode and its domain take some away that its scopes name. */
export function useRights(): (scope: string, reach?: Reach) => boolean {
  const may = useMay();
  const { key } = useSession();
  return (scope, { allDomains = OF_ALL_DOMAINS.has(scope) } = {}) =>
    may(scope) && !(allDomains && key.domainId !== undefined) && !(key.mode === 'test' && OF_LIVE_MAIL.has(scope));
}

interface PageLinkProps {
  /** What the page requires. */
  readonly scope: string;
  readonly to: string;
  readonly children: ReactNode;
  /** Where the key cannot open the page, instead of the same as text. */
  readonly otherwise?: ReactNode;
}

/** A link to a page, for keys that can open it. */
export function PageLink({ scope, to, children, otherwise = children }: PageLinkProps) {
  return useRights()(scope) ? <Link href={to}>{children}</Link> : otherwise;
}

/** As `Requires`, for a page about all domains of the organization: it names why a key that is bound to one does not open it. */
export function RequiresRight({ scope, children }: { scope: string; children: ReactNode }) {
  const rights = useRights();
  const may = useMay();
  if (rights(scope) || !may(scope)) return <Requires scope={scope}>{children}</Requires>;
  return (
    <Page title="Not available to this key">
      <NoPermission
        scope=""
        message="It is bound to one domain, and this page covers all of them. Sign in with a key that is not bound to a domain."
      />
    </Page>
  );
}
