import { type FormEvent, useEffect, useEffectEvent, useRef, useState } from 'react';
import { type Credential, useSignIn } from '../../api/session';
import { Button } from '../../parts/button';
import { bound, TextField } from '../../parts/field';
import { Brand } from '../../parts/shell';
import { InlineError } from '../../parts/states';

/** The token of a sign-in link; it leaves the address at once, so that it stays in no history. */
function takeLink(): string | undefined {
  const token = /^#link=([\w-]+)$/.exec(window.location.hash)?.[1];
  if (token !== undefined) window.history.replaceState(null, '', window.location.pathname);
  return token;
}

export function SignIn() {
  const signIn = useSignIn();
  const [key, setKey] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const begun = useRef(false);

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
  const begin = useEffectEvent(() => {
    const link = begun.current ? undefined : takeLink();
    begun.current = true;
    if (link !== undefined) void enter({ link });
  });
  useEffect(() => {
    document.title = 'Sign in · Waybill';
    begin();
  }, []);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void enter({ key: key.trim() });
  };
  return (
    <main className="sign-in">
      <div className="card">
        <Brand />
        <form className="form" onSubmit={submit}>
          <h1>Sign in</h1>
          <TextField
            label="API key"
            type="password"
            autoComplete="off"
            spellCheck={false}
            required
            {...bound(key, setKey)}
            placeholder="wb_live_… or wb_test_…"
            hint="It is exchanged for a session of 12 hours, and not kept in this browser."
          />
          <InlineError error={error} />
          <Button kind="primary" type="submit" busy={busy} disabled={key.trim() === ''}>
            {busy ? 'Signing in…' : 'Sign in'}
          </Button>
          <p className="hint">
            No key at hand? <code>npm run waybill -- console link --org &lt;id&gt;</code> makes a link that signs in
            once.
          </p>
        </form>
      </div>
    </main>
  );
}
