import { type ButtonHTMLAttributes, type MouseEvent, type ReactNode, type Ref, useState } from 'react';
import { Link } from 'wouter';
import { Icon, type IconName } from './icons';
import { useToast } from './toast';

type Kind = 'primary' | 'danger' | 'danger primary' | 'quiet' | '';

interface ButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'className'> {
  readonly ref?: Ref<HTMLButtonElement>;
  readonly kind?: Kind;
  readonly small?: boolean;
  readonly icon?: IconName;
  /** While it is under way: not to be pressed again. It keeps the focus, which a disabled button would lose. */
  readonly busy?: boolean;
  /** There is nothing to press it for now, as at the end of a list. It keeps the focus that it has got by being pressed. */
  readonly spent?: boolean;
}

/** A form is not sent by its busy button, nor by Enter in a field, which presses that button. */
const ignore = (event: MouseEvent): void => event.preventDefault();

export function Button(props: ButtonProps) {
  const { kind = '', small, icon, busy = false, spent = false, children, type = 'button', onClick, ...rest } = props;
  return (
    <button
      {...rest}
      type={type}
      onClick={busy || spent ? ignore : onClick}
      {...((busy || spent) && { 'aria-disabled': true })}
      aria-busy={busy || undefined}
      className={`button ${kind}${small ? ' small' : ''}`}
    >
      {icon && <Icon name={icon} size={16} />}
      {children}
    </button>
  );
}

export function ButtonLink({
  to,
  kind = '',
  small,
  icon,
  children,
}: {
  to: string;
  kind?: Kind;
  small?: boolean;
  icon?: IconName;
  children: ReactNode;
}) {
  return (
    <Link href={to} className={`button ${kind}${small ? ' small' : ''}`}>
      {icon && <Icon name={icon} size={16} />}
      {children}
    </Link>
  );
}

/** Copies a text. @param what names the text for screen readers */
export function CopyButton({ text, what, label }: { text: string; what: string; label?: string }) {
  const [copied, setCopied] = useState(false);
  const toast = useToast();
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
      setTimeout(() => setCopied(false), 2_000);
      toast(`Copied ${what}`);
    } catch {
      toast('The browser does not let this page copy; select the text instead');
    }
  };
  return (
    <Button
      kind="quiet"
      small
      icon={copied ? 'check' : 'copy'}
      onClick={copy}
      aria-label={label === undefined ? `Copy ${what}` : undefined}
    >
      {label}
    </Button>
  );
}

/** A text with the button that copies it, which stays beside it however narrow the page is. */
export function Copied({ text, what }: { text: string; what: string }) {
  return (
    <span className="row copied">
      <code className="break">{text}</code>
      <CopyButton text={text} what={what} />
    </span>
  );
}
