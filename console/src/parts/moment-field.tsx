import type { ReactNode } from 'react';
import { bound, TextField } from './field';

/** Without it the browser takes years of six digits: the moments of JSON have four. */
const LATEST = '9999-12-31T23:59';
const ZONE = new Intl.DateTimeFormat().resolvedOptions().timeZone;

interface MomentFieldProps {
  readonly label: string;
  /** As the browser writes it: `momentIn` makes a moment of it. */
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly error?: string | undefined;
  readonly hint?: ReactNode;
  readonly required?: boolean;
}

/** A moment in the time zone of the reader, which it names. */
export function MomentField({ label, value, onChange, error, hint, required }: MomentFieldProps) {
  return (
    <TextField
      label={label}
      type="datetime-local"
      max={LATEST}
      required={required}
      {...bound(value, onChange, error)}
      hint={
        <>
          {hint} In the time zone {ZONE}.
        </>
      }
    />
  );
}
