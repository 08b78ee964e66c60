import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { ApiError, get, post } from '../../api/client';
import { useMay } from '../../api/session';
import type { Data, Domain } from '../../api/types';
import { Button } from '../../parts/button';
import { Dialog } from '../../parts/dialog';
import { TextField } from '../../parts/field';
import { count } from '../../parts/format';
import { Card, Page } from '../../parts/page';
import { Empty, InlineError, Loaded, Requires } from '../../parts/states';
import { Badge, Time } from '../../parts/text';

export default function Domains() {
  return (
    <Requires scope="domain:read">
      <DomainsPage />
    </Requires>
  );
}

function DomainsPage() {
  const may = useMay();
  const [adds, setAdds] = useState(false);
  const query = useQuery({
    queryKey: ['domains'],
    queryFn: () => get<Data<Domain[]>>('/v1/domains'),
    refetchInterval: 30_000,
  });
  const add = may('domain:manage') && (
    <Button kind="primary" icon="plus" onClick={() => setAdds(true)}>
      Add a domain
    </Button>
  );
  return (
    <Page title="Domains" lead="Mail leaves from domains that you have shown to be yours." actions={add}>
      <Card flush>
        <Loaded query={query}>
          {({ data }) =>
            data.length === 0 ? (
              <Empty icon="domains" title="No domain yet" action={add}>
                Add the domain that you send from, publish its DNS records, and verify it.
              </Empty>
            ) : (
              <DomainTable domains={data} />
            )
          }
        </Loaded>
      </Card>
      {adds && <AddDomain onClose={() => setAdds(false)} />}
    </Page>
  );
}

function DomainTable({ domains }: { domains: readonly Domain[] }) {
  return (
    <div className="table-wrap">
      <table className="stacking">
        <caption className="visually-hidden">Domains</caption>
        <thead>
          <tr>
            <th scope="col">Domain</th>
            <th scope="col">Ownership</th>
            <th scope="col">DKIM</th>
            <th scope="col">Warm-up</th>
            <th scope="col" className="number">
              Reputation
            </th>
            <th scope="col">Added</th>
          </tr>
        </thead>
        <tbody>
          {domains.map((domain) => (
            <tr key={domain.id}>
              <td className="break">
                <Link href={`/domains/${domain.id}`}>
                  <bdi>{domain.domain}</bdi>
                </Link>{' '}
                {domain.is_default && <span className="badge plain">default</span>}{' '}
                {domain.sending_status && <Badge status={domain.sending_status} />}
              </td>
              <td data-label="Ownership">
                <Badge status={domain.verification_status} />
              </td>
              <td data-label="DKIM">
                {domain.dkim_status ? <Badge status={domain.dkim_status} /> : <span className="soft">none</span>}
              </td>
              <td data-label="Warm-up" className="soft">
                {domain.warming_current_limit === null ? 'no limit' : `${count(domain.warming_current_limit)} a day`}
              </td>
              <td data-label="Reputation" className="number">
                {domain.reputation_score}
              </td>
              <td data-label="Added" className="soft">
                <Time at={domain.created_at} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function AddDomain({ onClose }: { onClose: () => void }) {
  const client = useQueryClient();
  const [, navigate] = useLocation();
  const [name, setName] = useState('');
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      const { data } = await post<Data<Domain>>('/v1/domains', { domain: name.trim() });
      await client.invalidateQueries({ queryKey: ['domains'] });
      navigate(`/domains/${data.id}`);
    } catch (failed) {
      setError(failed);
      setBusy(false);
    }
  };
  const said = error instanceof ApiError ? error.validation.domain?.join('. ') : undefined;
  return (
    <Dialog title="Add a domain" onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <TextField
          label="Domain"
          required
          autoFocus
          value={name}
          placeholder="mail.example.com"
          spellCheck={false}
          onChange={(event) => setName(event.target.value)}
          error={said}
          hint="A subdomain of its own keeps the reputation of your main domain apart."
        />
        {said === undefined && <InlineError error={error} />}
        <div className="dialog-actions">
          <Button onClick={onClose}>Close</Button>
          <Button kind="primary" type="submit" busy={busy}>
            Add
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
