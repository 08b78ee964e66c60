import { Activity, Component, type ReactNode, useEffect } from 'react';
import { Redirect, Route, Switch, useLocation, useSearch } from 'wouter';
import { holderOf, SessionProvider, useEnded, useSessionQuery } from './api/session';
import { store, stored } from './api/storage';
import { useLink } from './api/sign-in-link';
import { Page, useTurns } from './parts/page';
import { SecretProvider } from './parts/secret';
import { Shell } from './parts/shell';
import { Empty, Failure, Loading } from './parts/states';
import { Button, ButtonLink } from './parts/button';
import { FollowLink, Refused, SignIn } from './pages/sign-in/sign-in';
import { NewRelease, Screen, Shown } from './screen';

type Kind = 'tenant' | 'operator';

const TENANT: Readonly<Record<string, Screen>> = {
  '/': new Screen(() => import('./pages/overview/overview')),
  '/emails': new Screen(() => import('./pages/emails/emails')),
  '/emails/:id': new Screen(() => import('./pages/email/email')),
  '/domains': new Screen(() => import('./pages/domains/domains')),
  '/domains/:id': new Screen(() => import('./pages/domains/domain')),
  '/suppressions': new Screen(() => import('./pages/suppressions/suppressions')),
  '/statistics': new Screen(() => import('./pages/statistics/statistics')),
  '/webhooks': new Screen(() => import('./pages/webhooks/webhooks')),
  '/webhooks/:id': new Screen(() => import('./pages/webhooks/webhook')),
  '/keys': new Screen(() => import('./pages/keys/keys')),
  '/send': new Screen(() => import('./pages/send/send')),
  '/events': new Screen(() => import('./pages/events/events')),
  '/inbound': new Screen(() => import('./pages/inbound/inbound')),
  '/inbound/:id': new Screen(() => import('./pages/inbound/inbound-email')),
  '/templates': new Screen(() => import('./pages/templates/templates')),
  '/templates/:id': new Screen(() => import('./pages/templates/template')),
  '/privacy': new Screen(() => import('./pages/privacy/privacy')),
};

const OPERATOR: Readonly<Record<string, Screen>> = {
  '/': new Screen(() => import('./pages/operator-overview/operator-overview')),
  '/restricted-domains': new Screen(() => import('./pages/restricted-domains/restricted-domains')),
  '/organizations': new Screen(() => import('./pages/organizations/organizations')),
  '/queue': new Screen(() => import('./pages/queue/queue')),
  '/destinations': new Screen(() => import('./pages/destinations/destinations')),
  '/destinations/:key': new Screen(() => import('./pages/destinations/destination')),
  '/egress': new Screen(() => import('./pages/egress/egress')),
  '/workers': new Screen(() => import('./pages/workers/workers')),
  '/audit': new Screen(() => import('./pages/audit/audit')),
};

const SCREENS: Readonly<Record<Kind, Readonly<Record<string, Screen>>>> = { tenant: TENANT, operator: OPERATOR };
const KIND = 'waybill-kind';

/** Whose pages were shown last: a guess, of use before the service has responded. */
function lastKind(): Kind {
  return stored(KIND) === 'operator' ? 'operator' : 'tenant';
}

/** Loads the script of an address's page while the session is still being loaded. @param path below `/console` */
export function preload(path: string): void {
  const parts = path.split('/');
  const isFor = (pattern: string) => {
    const wanted = pattern.split('/');
    return (
      wanted.length === parts.length && wanted.every((part, index) => part.startsWith(':') || part === parts[index])
    );
  };
  const found = Object.entries(SCREENS[lastKind()]).find(([pattern]) => isFor(pattern));
  void found?.[1].load().catch(() => undefined);
}

export function App() {
  const session = useSessionQuery();
  const ended = useEnded();
  const link = useLink();
  const kind = session.data?.kind;
  useEffect(() => {
    if (kind) store(KIND, kind);
  }, [kind]);
  if (session.data === undefined) {
    if (!session.isError) return <Loading />;
    return <Failure error={session.error} retry={() => void session.refetch()} />;
  }
  // Data stays when it cannot be read again, and with it what is open.
  const shown = session.data ?? ended?.waiting;
  return (
    <>
      {session.data === null && (
        <>
          <Refused />
          <SignIn />
        </>
      )}
      {session.data && link !== undefined && (
        <SessionProvider session={session.data}>
          <FollowLink link={link} />
        </SessionProvider>
      )}
      {shown && (
        // What a page shows or has begun belongs to who is signed in: with someone else it begins anew.
        <SessionProvider key={holderOf(shown)} session={shown}>
          <Activity mode={session.data && link === undefined ? 'visible' : 'hidden'}>
            <Pages kind={shown.kind} />
          </Activity>
        </SessionProvider>
      )}
    </>
  );
}

function Pages({ kind }: { kind: Kind }) {
  const [path] = useLocation();
  const search = useSearch();
  useTurns(path);
  return (
    <SecretProvider>
      <Shell>
        <Broken path={`${path}?${search}`}>
          <Switch>
            {Object.entries(SCREENS[kind]).map(([path, screen]) => (
              <Route key={path} path={path}>
                <Shown screen={screen} />
              </Route>
            ))}
            <Route path="/sign-in">
              <Redirect to="/" />
            </Route>
            <Route>
              <NotFound />
            </Route>
          </Switch>
        </Broken>
      </Shell>
    </SecretProvider>
  );
}

function NotFound() {
  return (
    <Page title="Not found">
      <Empty icon="search" title="There is no such page" action={<ButtonLink to="/">Overview</ButtonLink>}>
        The page may have moved, or the link is incomplete.
      </Empty>
    </Page>
  );
}

/** An error in a page affects neither other pages nor the navigation. */
class Broken extends Component<{ path: string; children: ReactNode }, { error: unknown }> {
  override state = { error: undefined as unknown };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override componentDidUpdate({ path }: { path: string }) {
    if (path !== this.props.path && this.state.error !== undefined) this.setState({ error: undefined });
  }

  override render() {
    if (this.state.error === undefined) return this.props.children;
    if (this.state.error instanceof NewRelease) {
      return (
        <Empty
          icon="refresh"
          title="The console has a new release"
          action={<Button onClick={() => window.location.reload()}>Load the new release</Button>}
        >
          This page belongs to the previous release.
        </Empty>
      );
    }
    return <Failure error={this.state.error} retry={() => this.setState({ error: undefined })} />;
  }
}
