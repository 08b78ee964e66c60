import { type FormEvent, type KeyboardEvent, type ReactNode, useState } from 'react';
import { flushSync } from 'react-dom';
import { type Option, SelectField, TextField } from './field';

interface FilterTextProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly placeholder?: string;
  readonly hint?: ReactNode;
}

/** A filter that is written: it counts after Enter, or when it is left; Escape empties and leaves it. */
export function FilterText({ value, onChange, ...rest }: FilterTextProps) {
  const [text, setText] = useState(value);
  const [known, setKnown] = useState(value);
  // The address has changed: by a link, or by going back.
  if (known !== value) {
    setKnown(value);
    setText(value);
  }
  const apply = (wanted: string) => wanted.trim() !== value && onChange(wanted.trim());
  const submit = (event: FormEvent) => {
    event.preventDefault();
    apply(text);
  };
  const clear = (event: KeyboardEvent<HTMLInputElement>) => {
    if (event.key !== 'Escape') return;
    // Leaving it counts as well: by then it has to be empty.
    flushSync(() => setText(''));
    event.currentTarget.blur();
  };
  return (
    <form onSubmit={submit}>
      <TextField
        {...rest}
        type="search"
        value={text}
        onChange={(event) => setText(event.target.value)}
        onBlur={(event) => apply(event.target.value)}
        onKeyDown={clear}
      />
    </form>
  );
}

/** A filter of a list: chosen where it has options, written otherwise. */
export interface Filter<Name extends string> {
  readonly name: Name;
  readonly label: string;
  readonly options?: readonly Option[];
  readonly placeholder?: string;
  readonly hint?: ReactNode;
}

interface FilterBarProps<Name extends string> {
  readonly filters: readonly Filter<Name>[];
  readonly values: Readonly<Record<Name, string>>;
  /** Another filter begins with the first page again. */
  readonly change: (changes: Partial<Record<Name | 'page', string>>) => void;
  /** What they filter, where it is more than the list below. */
  readonly label?: string;
}

/** The filters above a list. */
export function FilterBar<Name extends string>({ filters, values, change, label }: FilterBarProps<Name>) {
  const set = (name: Name) => (value: string) =>
    change({ [name]: value, page: '' } as Partial<Record<Name | 'page', string>>);
  return (
    <div className="filters" role={label === undefined ? 'search' : 'group'} aria-label={label}>
      {filters.map(({ name, options, ...rest }) =>
        options ? (
          <SelectField
            key={name}
            {...rest}
            options={options}
            value={values[name]}
            onChange={({ target }) => set(name)(target.value)}
          />
        ) : (
          <FilterText key={name} {...rest} value={values[name]} onChange={set(name)} />
        ),
      )}
    </div>
  );
}
