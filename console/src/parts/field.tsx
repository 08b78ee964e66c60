import {
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
  useEffect,
  useId,
  useRef,
} from 'react';
import { words } from './format';

interface Described {
  readonly label: string;
  readonly hint?: ReactNode;
  readonly error?: string | undefined;
}

function Frame({ id, label, hint, error, children }: Described & { id: string; children: ReactNode }) {
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children}
      {hint && (
        <span className="hint" id={`${id}-hint`}>
          {hint}
        </span>
      )}
      {error && (
        <span className="field-error" id={`${id}-error`}>
          {error}
        </span>
      )}
    </div>
  );
}

function describedBy(id: string, { hint, error }: Described) {
  const ids = [hint ? `${id}-hint` : '', error ? `${id}-error` : ''].filter((each) => each !== '').join(' ');
  return { 'aria-invalid': error ? true : undefined, 'aria-describedby': ids === '' ? undefined : ids };
}

/** The value of a field, and the service's message about it. */
export const bound = (value: string, set: (value: string) => void, error?: string) => ({
  value,
  error,
  onChange: ({ target }: { readonly target: { readonly value: string } }) => set(target.value),
});

export function TextField({ label, hint, error, ...rest }: Described & InputHTMLAttributes<HTMLInputElement>) {
  const id = useId();
  const said = { label, hint, error };
  return (
    <Frame id={id} {...said}>
      <input {...rest} {...describedBy(id, said)} id={id} className="input" />
    </Frame>
  );
}

export function TextArea({ label, hint, error, ...rest }: Described & TextareaHTMLAttributes<HTMLTextAreaElement>) {
  const id = useId();
  const said = { label, hint, error };
  return (
    <Frame id={id} {...said}>
      <textarea {...rest} {...describedBy(id, said)} id={id} />
    </Frame>
  );
}

/** After a refusal the focus goes to the first field that has a message. @returns the form's ref */
export function useRefusalFocus(error: unknown) {
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (error === undefined) return;
    const first = form.current?.querySelector('[aria-invalid="true"]');
    if (first instanceof HTMLElement) first.focus();
  }, [error]);
  return form;
}

export interface Option {
  readonly value: string;
  readonly label: string;
  /** It says something, and cannot be chosen. */
  readonly disabled?: boolean;
}

/** Any of some states or reasons, by the names that their badges have. */
export const anyOf = (values: readonly string[]): Option[] => [
  { value: '', label: 'Any' },
  ...values.map((value) => ({ value, label: words(value) })),
];

export function SelectField({
  label,
  hint,
  error,
  options,
  ...rest
}: Described & { options: readonly Option[] } & SelectHTMLAttributes<HTMLSelectElement>) {
  const id = useId();
  const said = { label, hint, error };
  return (
    <Frame id={id} {...said}>
      <select {...rest} {...describedBy(id, said)} id={id}>
        {options.map(({ value, label: name, disabled }) => (
          <option key={value} value={value} disabled={disabled}>
            {name}
          </option>
        ))}
      </select>
    </Frame>
  );
}

export function Check({
  label,
  note,
  checked,
  onChange,
  disabled,
}: {
  label: ReactNode;
  note?: ReactNode;
  checked: boolean;
  onChange: (checked: boolean) => void;
  disabled?: boolean;
}) {
  const id = useId();
  return (
    <div className="check">
      <input
        id={id}
        type="checkbox"
        checked={checked}
        disabled={disabled}
        onChange={(event) => onChange(event.target.checked)}
      />
      <label htmlFor={id}>
        {label}
        {note && <small>{note}</small>}
      </label>
    </div>
  );
}

/** One of a few, all of them seen at once. */
export function Segmented({
  label,
  value,
  options,
  onChange,
}: {
  label: string;
  value: string;
  options: readonly Option[];
  onChange: (value: string) => void;
}) {
  return (
    <div className="segmented" role="group" aria-label={label}>
      {options.map((option) => (
        <button
          key={option.value}
          type="button"
          aria-pressed={option.value === value}
          onClick={() => onChange(option.value)}
        >
          {option.label}
        </button>
      ))}
    </div>
  );
}
