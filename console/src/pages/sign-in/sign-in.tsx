import { type FormEvent, type ReactNode, useEffect, useEffectEvent, useRef, useState } from 'react';
import { type Credential, useEnded, useSession, useSessionRefusal, useSignIn, useSignOut } from '../../api/session';
import { takeLink, useLink } from '../../api/sign-in-link';
import { Button } from '../../parts/button';
import { bound, TextField } from '../../parts/field';
import { Brand } from '../../parts/shell';
import { InlineError } from '../../parts/states';
import { useToast } from '../../parts/toast';
import { Foreign } from '../../parts/text';

function Frame({ title, children }: { title: string; children: ReactNode }) {
  useEffect(() => {
    document.title = `${title} · Waybill`;
  }, [title]);
  return (
    <main className="sign-in">
      <div className="card">
        <Brand />
        {children}
      </div>
    </main>
  );
}

export function SignIn() {
  const signIn = useSignIn();
  const [key, setKey] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const ended = useEnded();
  const link = useLink();
  const isBusy = busy || link !== undefined;

  const enter = async (credential: Credential) => {
    setBusy(true);
    setError(undefined);
    try {
      await signIn(credential);
    } catch (failed) {
      setError(failed);
      setBusy(false);
    }
  };
  const followed = useRef<string>(undefined);
  const followLink = useEffectEvent((token: string) => {
    if (followed.current === token) return;
    followed.current = token;
    void signIn({ link: token }).catch(setError).finally(takeLink);
  });
  useEffect(() => {
    if (link !== undefined) followLink(link);
  }, [link]);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void enter({ key: key.trim() });
  };
  return (
    <Frame title="Sign in">
      <form className="form" onSubmit={submit}>
        <h1>Sign in</h1>
        {ended && (
          <div className="notice warn" role="status">
            <p>
              <strong>Your session has ended.</strong> It has expired, or its key was revoked or signed out elsewhere.
              Sign in to return to this page. Drafts of templates and of a test mail are kept.
              {ended.waiting &&
                ` So is the open dialog, for ${ended.waiting.key.sessionOnly ? 'another sign-in link' : 'the same key'} only.`}
            </p>
          </div>
        )}
        <TextField
          label="API key or operator key"
          type="password"
          autoComplete="off"
          spellCheck={false}
          required
          {...bound(key, setKey)}
          placeholder="wb_live_… or wb_test_…"
          hint="It is exchanged for a session of 12 hours, and not kept in this browser."
        />
        <InlineError error={error} />
        <Button kind="primary" type="submit" busy={isBusy} disabled={key.trim() === ''}>
          {isBusy ? 'Signing in…' : 'Sign in'}
        </Button>
        <p className="hint">
          No key at hand? <code>npm run waybill -- console link --org &lt;id&gt;</code> makes a link that signs in once.
        </p>
      </form>
    </Frame>
  );
}

/** The browser has a session that opens nothing: another one may take its place, and it can be left. */
export function Refused() {
  const refusal = useSessionRefusal();
  const signOut = useSignOut();
  const toast = useToast();
  if (!refusal) return null;
  return (
    <div className="notice bad" role="alert">
      <div>
        <strong>{refusal.message}.</strong> You are signed in to it. An operator can open it again; another key or link
        opens another organization.
      </div>
      <Button onClick={() => void signOut(false).catch((error: Error) => toast(error.message))}>Sign out</Button>
    </div>
  );
}

/** A signed-in user has followed a link: the session is replaced only after a question. */
export function FollowLink({ link }: { link: string }) {
  const { organization, key } = useSession();
  const signIn = useSignIn();
  const toast = useToast();
  const [busy, setBusy] = useState(false);
  const follow = async () => {
    setBusy(true);
    await signIn({ link }).catch((error: Error) => toast(error.message));
    takeLink();
  };
  return (
    <Frame title="Sign in with the link?">
      <div className="form">
        <h1>Sign in with the link?</h1>
        <p>
          You are signed in to <Foreign>{organization?.name ?? 'the operator’s pages'}</Foreign> with{' '}
          <Foreign>{key.name}</Foreign>. The link opens another session and ends this one.
        </p>
        <Button kind="primary" busy={busy} onClick={() => void follow()}>
          Sign in with the link
        </Button>
        <Button onClick={() => takeLink()}>Stay signed in</Button>
      </div>
    </Frame>
  );
}
