import { type ReactNode, useEffect, useRef, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { useSession, useSignOut } from '../api/session';
import { Button } from './button';
import { Confirm } from './dialog';
import { Icon, type IconName } from './icons';
import { useRights } from './rights';
import { useTheme } from './theme';
import { useToast } from './toast';
import { Foreign } from './text';

interface Entry {
  readonly to: string;
  readonly name: string;
  readonly icon: IconName;
  /** Without it the key cannot see the page, and the page is not in the list. */
  readonly scope?: string;
}

const TENANT: readonly (readonly [heading: string, entries: readonly Entry[]])[] = [
  [
    'Mail',
    [
      { to: '/', name: 'Overview', icon: 'overview' },
      { to: '/emails', name: 'Emails', icon: 'emails', scope: 'email:read' },
      { to: '/events', name: 'Events', icon: 'events', scope: 'email:read' },
      { to: '/statistics', name: 'Statistics', icon: 'statistics', scope: 'stats:read' },
      { to: '/send', name: 'Send a test mail', icon: 'send', scope: 'email:send' },
    ],
  ],
  [
    'Sending',
    [
      { to: '/domains', name: 'Domains', icon: 'domains', scope: 'domain:read' },
      { to: '/inbound', name: 'Inbound mail', icon: 'inbound', scope: 'inbound:read' },
      { to: '/templates', name: 'Templates', icon: 'templates', scope: 'template:read' },
      { to: '/suppressions', name: 'Suppressions', icon: 'suppressions', scope: 'suppression:read' },
    ],
  ],
  [
    'Integration',
    [
      { to: '/webhooks', name: 'Webhooks', icon: 'webhooks', scope: 'webhook:read' },
      { to: '/keys', name: 'API keys', icon: 'keys', scope: 'key:manage' },
      { to: '/privacy', name: 'Privacy', icon: 'privacy', scope: 'privacy:read' },
    ],
  ],
];

const OPERATOR: typeof TENANT = [
  [
    'Installation',
    [
      { to: '/', name: 'Overview', icon: 'overview' },
      { to: '/queue', name: 'Queue', icon: 'queue', scope: 'operator:read' },
      { to: '/destinations', name: 'Destinations', icon: 'destinations', scope: 'operator:read' },
      { to: '/egress', name: 'Egress', icon: 'egress', scope: 'operator:read' },
      { to: '/organizations', name: 'Organizations', icon: 'organizations', scope: 'operator:read' },
      { to: '/restricted-domains', name: 'Restrictions', icon: 'domains', scope: 'operator:read' },
      { to: '/workers', name: 'Workers', icon: 'workers', scope: 'operator:read' },
      { to: '/audit', name: 'Audit log', icon: 'audit', scope: 'operator:read' },
    ],
  ],
];

export function Brand() {
  return (
    <Link href="/" className="brand">
      <svg width="26" height="26" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
        <rect width="32" height="32" rx="7" fill="currentColor" />
        <path
          d="M6 11l5 12 5-10 5 10 5-12"
          fill="none"
          stroke="var(--card)"
          strokeWidth="2.6"
          strokeLinecap="round"
          strokeLinejoin="round"
        />
      </svg>
      Waybill
    </Link>
  );
}

/** The frame of every page: navigation, the signed-in user, light or dark. */
export function Shell({ children }: { children: ReactNode }) {
  const [path] = useLocation();
  // The menu belongs to the page that it was opened on: another page closes it.
  const [openOn, setOpenOn] = useState<string>();
  const isOpen = openOn === path;
  const menu = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!isOpen) return;
    const close = ({ key, defaultPrevented }: KeyboardEvent) => {
      // Escape in a dialog closes the dialog.
      if (key !== 'Escape' || defaultPrevented || document.querySelector('dialog[open]')) return;
      setOpenOn(undefined);
      menu.current?.focus();
    };
    window.addEventListener('keydown', close);
    return () => window.removeEventListener('keydown', close);
  }, [isOpen]);
  // The link of the page that is shown changes no path.
  const chosen = () => {
    if (!isOpen) return;
    setOpenOn(undefined);
    menu.current?.focus();
  };
  return (
    <div className="shell">
      <a className="skip" href="#main">
        Skip to the page
      </a>
      <div className="topbar">
        <Brand />
        <Button
          ref={menu}
          kind="quiet"
          icon="menu"
          aria-expanded={isOpen}
          aria-controls="side"
          onClick={() => setOpenOn(isOpen ? undefined : path)}
        >
          Menu
        </Button>
      </div>
      <aside id="side" className={isOpen ? 'side open' : 'side'}>
        <Brand />
        <Navigation path={path} onChosen={chosen} />
        <Who />
      </aside>
      <main id="main" className="main" tabIndex={-1}>
        {children}
      </main>
    </div>
  );
}

function Navigation({ path, onChosen }: { path: string; onChosen: () => void }) {
  const { kind, service } = useSession();
  const rights = useRights();
  const isHere = (to: string) => (to === '/' ? path === '/' : path === to || path.startsWith(`${to}/`));
  return (
    <nav className="nav" aria-label="Pages">
      {(kind === 'operator' ? OPERATOR : TENANT).map(([heading, entries]) => {
        const seen = entries.filter(({ scope }) => scope === undefined || rights(scope));
        if (seen.length === 0) return null;
        return (
          <div key={heading}>
            <h2>{heading}</h2>
            <ul>
              {seen.map(({ to, name, icon }) => (
                <li key={to}>
                  <Link href={to} aria-current={isHere(to) ? 'page' : undefined} onClick={onChosen}>
                    <Icon name={icon} />
                    {name}
                  </Link>
                </li>
              ))}
              {heading === 'Mail' && service.deliveryMode === 'local' && (
                <li>
                  <a href="/mailbox">
                    <Icon name="mailbox" />
                    Local mailbox
                  </a>
                </li>
              )}
            </ul>
          </div>
        );
      })}
    </nav>
  );
}

function Who() {
  const { organization, key, service } = useSession();
  const signOut = useSignOut();
  const toast = useToast();
  const [asks, setAsks] = useState(false);
  const [theme, setTheme] = useTheme();
  const leave = () => {
    signOut(false).catch((error: Error) => toast(`You are still signed in. ${error.message}`));
  };
  const other = theme === 'dark' ? 'light' : 'dark';
  return (
    <footer>
      <div className="who">
        <strong>
          <Foreign>{organization?.name ?? 'Operator'}</Foreign>
        </strong>
        <br />
        <span>
          <Foreign>{key.name}</Foreign>
        </span>
      </div>
      <div className="row">
        {key.mode && (
          <span className={key.mode === 'live' ? 'badge good' : 'badge warn'}>
            {key.mode === 'live' ? 'Live' : 'Test'}
          </span>
        )}
        <span className="soft">v{service.version}</span>
      </div>
      <div className="row">
        <Button small kind="quiet" icon={theme === 'dark' ? 'sun' : 'moon'} onClick={() => setTheme(other)}>
          {other === 'dark' ? 'Dark' : 'Light'}
        </Button>
        <Button small kind="quiet" onClick={leave}>
          Sign out
        </Button>
        <Button small kind="quiet" onClick={() => setAsks(true)}>
          Sign out everywhere
        </Button>
      </div>
      {asks && (
        <Confirm
          title="Sign out everywhere?"
          action="Sign out"
          onConfirm={() => signOut(true)}
          onClose={() => setAsks(false)}
        >
          <p>
            {key.sessionOnly
              ? 'Ends every session that a sign-in link has opened here, in all browsers. Another link signs you in again.'
              : 'Ends every session of this key, in all browsers. The key itself keeps working for programs.'}
          </p>
        </Confirm>
      )}
    </footer>
  );
}
