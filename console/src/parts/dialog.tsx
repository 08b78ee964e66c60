import { type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { Button } from './button';
import { InlineError } from './states';

/** The browser's own modal: it keeps the focus inside, closes with Escape, and gives the focus back. */
export function Dialog({ title, onClose, children }: { title: string; onClose: () => void; children: ReactNode }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} aria-labelledby={id} onClose={onClose}>
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}

interface ConfirmProps {
  readonly title: string;
  /** What and how many, and whether there is a way back. */
  readonly children: ReactNode;
  readonly action: string;
  readonly onConfirm: () => Promise<unknown>;
  readonly onClose: () => void;
  /** Something to be typed before it can be done. */
  readonly typed?: string;
}

export function Confirm({ title, children, action, onConfirm, onClose, typed }: ConfirmProps) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const [text, setText] = useState('');
  const id = useId();
  const confirm = async () => {
    setBusy(true);
    setError(undefined);
    try {
      await onConfirm();
      onClose();
    } catch (failed) {
      setError(failed);
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <div className="stack">
        <div>{children}</div>
        {typed !== undefined && (
          <div className="field">
            <label htmlFor={id}>
              Type <code>{typed}</code> to confirm
            </label>
            <input
              id={id}
              className="input"
              value={text}
              autoComplete="off"
              onChange={(event) => setText(event.target.value)}
            />
          </div>
        )}
        <InlineError error={error} />
      </div>
      <div className="dialog-actions">
        <Button onClick={onClose}>Keep</Button>
        <Button kind="danger primary" busy={busy} disabled={typed !== undefined && text !== typed} onClick={confirm}>
          {action}
        </Button>
      </div>
    </Dialog>
  );
}
