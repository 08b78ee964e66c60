import { type FormEvent, type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { ApiError } from '../api/client';
import { Button } from './button';
import { bound, TextField, useRefusalFocus } from './field';
import { InlineError } from './states';
import { visible } from './format';
import { ToastPlace } from './toast';

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  /** It stays open: what it has asked for, such as a secret, is shown this once. */
  readonly busy?: boolean;
  readonly children: ReactNode;
}

/** The browser's own modal: it keeps the focus inside and closes with Escape. Whatever had the focus before gets it back. */
export function Dialog({ title, onClose, busy = false, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  const opener = useRef<Element | null>(null);
  const isHidden = useRef(true);
  useEffect(() => {
    const shown = dialog.current;
    opener.current ??= document.activeElement;
    shown?.showModal();
    isHidden.current = false;
    return () => {
      // Hidden with its page, it would still cover the page to sign in.
      isHidden.current = true;
      shown?.close();
      // The object may be deleted by now, and its button with it.
      const next = opener.current?.isConnected ? opener.current : document.querySelector('h1');
      if (next instanceof HTMLElement) next.focus();
    };
  }, []);
  const closed = ({ currentTarget }: { currentTarget: HTMLDialogElement }) => {
    // The browser tells it later: by now the dialog may be hidden, or shown again.
    if (isHidden.current || currentTarget.open) return;
    // Escape pressed twice closes it all the same.
    if (busy) currentTarget.showModal();
    else onClose();
  };
  return (
    <dialog ref={dialog} aria-labelledby={id} onCancel={(event) => busy && event.preventDefault()} onClose={closed}>
      <h2 id={id}>{visible(title)}</h2>
      {children}
      <ToastPlace />
    </dialog>
  );
}

/** The service's message about a field, for its place in the form. */
export type Said = (field: string) => string | undefined;

/** The messages for fields, and the rest of an error for the end of the form. */
export function readErrors(error: unknown): { readonly said: Said; readonly rest: () => unknown } {
  const messages = error instanceof ApiError ? error.validation : {};
  const shown = new Set<string>();
  return {
    said: (field) => {
      shown.add(field);
      return messages[field]?.join('. ');
    },
    // Called after the fields have been drawn: messages that no field has shown would be lost.
    rest: () => {
      const fields = Object.keys(messages);
      return fields.length > 0 && fields.every((field) => shown.has(field)) ? undefined : error;
    },
  };
}

interface FormDialogProps {
  readonly title: string;
  readonly action: string;
  readonly isDangerous?: boolean;
  readonly disabled?: boolean;
  /** Throws an error, which is shown. */
  readonly onSubmit: () => Promise<unknown>;
  readonly onClose: () => void;
  /** Instead of closing, once it is done. */
  readonly onDone?: () => void;
  readonly children: (said: Said) => ReactNode;
}

/** A form in a dialog: busy while it is sent, with errors at their fields or else above its buttons. */
export function FormDialog(props: FormDialogProps) {
  const { title, action, isDangerous = false, disabled = false, onSubmit, onClose, onDone = onClose, children } = props;
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      await onSubmit();
      onDone();
    } catch (failed) {
      setError(failed);
      setBusy(false);
    }
  };
  const { said, rest } = readErrors(error);
  const form = useRefusalFocus(error);
  const fields = children(said);
  return (
    <Dialog title={title} onClose={onClose} busy={busy}>
      <form ref={form} className="form" onSubmit={(event) => void submit(event)}>
        {fields}
        <InlineError error={rest()} />
        <div className="dialog-actions">
          <Button onClick={onClose} disabled={busy}>
            Close
          </Button>
          <Button kind={isDangerous ? 'danger primary' : 'primary'} type="submit" busy={busy} disabled={disabled}>
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

interface ConfirmProps {
  readonly title: string;
  /** The objects and their number, and whether the action can be undone. */
  readonly children: ReactNode;
  readonly action: string;
  readonly onConfirm: () => Promise<unknown>;
  readonly onClose: () => void;
  /** Something to be typed before it can be done. */
  readonly typed?: string;
}

/** Asks the user before an action that cannot easily be undone. */
export function Confirm({ title, children, action, onConfirm, onClose, typed }: ConfirmProps) {
  const [text, setText] = useState('');
  return (
    <FormDialog
      title={title}
      action={action}
      isDangerous
      disabled={typed !== undefined && text !== typed}
      onSubmit={onConfirm}
      onClose={onClose}
    >
      {() => (
        <>
          <div>{children}</div>
          {typed !== undefined && (
            <TextField label={`Type ${typed} to confirm`} {...bound(text, setText)} autoComplete="off" />
          )}
        </>
      )}
    </FormDialog>
  );
}
