import { Component, lazy, type LazyExoticComponent, type ReactNode, Suspense } from 'react';
import { Redirect, Route, Switch } from 'wouter';
import { SessionProvider, useSessionQuery } from './api/session';
import { Page } from './parts/page';
import { Shell } from './parts/shell';
import { Empty, Failure, Loading } from './parts/states';
import { ButtonLink } from './parts/button';
import { SignIn } from './pages/sign-in/sign-in';

type Screen = LazyExoticComponent<() => ReactNode>;

const TENANT: Readonly<Record<string, Screen>> = {
  '/': lazy(() => import('./pages/overview/overview')),
  '/emails': lazy(() => import('./pages/emails/emails')),
  '/emails/:id': lazy(() => import('./pages/email/email')),
  '/domains': lazy(() => import('./pages/domains/domains')),
  '/domains/:id': lazy(() => import('./pages/domains/domain')),
  '/suppressions': lazy(() => import('./pages/suppressions/suppressions')),
  '/statistics': lazy(() => import('./pages/statistics/statistics')),
  '/webhooks': lazy(() => import('./pages/webhooks/webhooks')),
  '/webhooks/:id': lazy(() => import('./pages/webhooks/webhook')),
  '/keys': lazy(() => import('./pages/keys/keys')),
  '/send': lazy(() => import('./pages/send/send')),
  '/events': lazy(() => import('./pages/events/events')),
  '/inbound': lazy(() => import('./pages/inbound/inbound')),
  '/inbound/:id': lazy(() => import('./pages/inbound/inbound-email')),
  '/templates': lazy(() => import('./pages/templates/templates')),
  '/templates/:id': lazy(() => import('./pages/templates/template')),
  '/privacy': lazy(() => import('./pages/privacy/privacy')),
};

const OPERATOR: Readonly<Record<string, Screen>> = {
  '/': lazy(() => import('./pages/operator-overview/operator-overview')),
  '/organizations': lazy(() => import('./pages/organizations/organizations')),
  '/queue': lazy(() => import('./pages/queue/queue')),
  '/destinations': lazy(() => import('./pages/destinations/destinations')),
  '/destinations/:key': lazy(() => import('./pages/destinations/destination')),
  '/egress': lazy(() => import('./pages/egress/egress')),
  '/workers': lazy(() => import('./pages/workers/workers')),
  '/audit': lazy(() => import('./pages/audit/audit')),
};

export function App() {
  const session = useSessionQuery();
  if (session.isPending) return <Loading />;
  if (session.isError) return <Failure error={session.error} retry={() => void session.refetch()} />;
  if (session.data === null) return <SignIn />;
  return (
    <SessionProvider session={session.data}>
      <Shell>
        <Broken>
          <Suspense fallback={<Loading />}>
            <Switch>
              {Object.entries(session.data.kind === 'operator' ? OPERATOR : TENANT).map(([path, Screen]) => (
                <Route key={path} path={path}>
                  <Screen />
                </Route>
              ))}
              <Route path="/sign-in">
                <Redirect to="/" />
              </Route>
              <Route>
                <NotFound />
              </Route>
            </Switch>
          </Suspense>
        </Broken>
      </Shell>
    </SessionProvider>
  );
}

function NotFound() {
  return (
    <Page title="Nothing here">
      <Empty icon="search" title="This address leads nowhere" action={<ButtonLink to="/">Overview</ButtonLink>}>
        The page may have moved, or the link is not whole.
      </Empty>
    </Page>
  );
}

/** A page that breaks takes neither the others with it nor the way to them. */
class Broken extends Component<{ children: ReactNode }, { error: unknown }> {
  override state = { error: undefined as unknown };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override render() {
    if (this.state.error === undefined) return this.props.children;
    return <Failure error={this.state.error} retry={() => this.setState({ error: undefined })} />;
  }
}
