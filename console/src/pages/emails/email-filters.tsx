import { useRef } from 'react';
import { useLocation } from 'wouter';
import { domainOptions, useDomains } from '../../parts/domains';
import { anyOf, SelectField } from '../../parts/field';
import { useHotkeys } from '../../parts/hotkeys';
import { FilterText } from '../../parts/filter-bar';

export const NAMES = ['q', 'status', 'domain', 'tag', 'span', 'page', 'older'] as const;
export type Filters = Record<(typeof NAMES)[number], string>;

export const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const STATUSES = ['scheduled', 'queued', 'sending', 'sent', 'delivered', 'bounced', 'failed'];
const SPANS = [
  { value: '', label: 'Any' },
  { value: '1h', label: 'Last hour' },
  { value: '24h', label: 'Last 24 hours' },
  { value: '7d', label: 'Last 7 days' },
  { value: '30d', label: 'Last 30 days' },
];

interface Props {
  readonly filters: Filters;
  /** Begins with the newest again. */
  readonly change: (changes: Partial<Filters>) => void;
}

export function EmailFilters({ filters, change }: Props) {
  const [, navigate] = useLocation();
  const box = useRef<HTMLDivElement>(null);
  const domains = useDomains();
  const searchField = () => box.current?.querySelector('input');
  const isSearch = (element: HTMLElement) => element === searchField();
  useHotkeys({
    '/': (event) => {
      event.preventDefault();
      searchField()?.focus();
    },
    Escape: ({ target }) => {
      // In another field it is about that field.
      const isOther = target instanceof HTMLElement && target.matches('input, select, textarea') && !isSearch(target);
      if (!isOther && filters.q !== '') change({ q: '' });
    },
  });
  const search = (wanted: string) => {
    if (UUID.test(wanted)) navigate(`/emails/${wanted.toLowerCase()}`);
    else change({ q: wanted });
  };
  const select = (name: keyof Filters) => ({
    value: filters[name],
    onChange: ({ target }: { target: { value: string } }) => change({ [name]: target.value }),
  });
  return (
    <div ref={box} className="filters" role="search">
      <FilterText
        label="Recipient, subject or id"
        value={filters.q}
        placeholder="ada@example.com, invoice 42"
        onChange={search}
      />
      <SelectField label="Status" {...select('status')} options={anyOf(STATUSES)} />
      {domains.data && (
        <SelectField
          label="Domain"
          {...select('domain')}
          options={domainOptions(domains.data, 'Any', undefined, filters.domain)}
        />
      )}
      <SelectField label="Time" {...select('span')} options={SPANS} />
      <FilterText label="Tag" value={filters.tag} onChange={(value) => change({ tag: value })} />
    </div>
  );
}
