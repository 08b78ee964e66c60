import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { del, get } from '../../api/client';
import { SELDOM } from '../../api/query-client';
import { useSession } from '../../api/session';
import type { ApiKey, Data } from '../../api/types';
import { now } from '../../api/service-clock';
import { Button } from '../../parts/button';
import { useChange } from '../../parts/change';
import { Confirm } from '../../parts/dialog';
import { type Column, ListCard } from '../../parts/list';
import { Page } from '../../parts/page';
import { Requires } from '../../parts/states';
import { Badge, Foreign, Time } from '../../parts/text';
import { CreateKeyDialog } from './create-key-dialog';
import { SCOPES } from './scopes';

export default function Keys() {
  return (
    <Requires scope="key:manage">
      <KeysPage />
    </Requires>
  );
}

function stateOf({ revokedAt, expiresAt }: ApiKey): string {
  if (revokedAt) return 'revoked';
  return expiresAt && new Date(expiresAt).getTime() <= now() ? 'expired' : 'active';
}

const COLUMNS: readonly Column<ApiKey>[] = [
  { name: 'Name', look: 'break', cell: (key) => <Name apiKey={key} /> },
  { name: 'Key', cell: ({ prefix }) => <code>{prefix}…</code> },
  {
    name: 'State',
    isBare: true,
    cell: (key) => (
      <>
        <Badge status={stateOf(key)} /> {key.mode === 'test' && <span className="badge warn plain">test</span>}
      </>
    ),
  },
  {
    name: 'Scopes',
    look: 'wide',
    cell: ({ scopes }) => {
      const all = Object.keys(SCOPES).length;
      return (
        <details>
          <summary>{scopes.length >= all ? 'all' : `${scopes.length} of ${all}`}</summary>
          {scopes.join(', ')}
        </details>
      );
    },
  },
  { name: 'Last used', look: 'soft', cell: ({ lastUsedAt }) => (lastUsedAt ? <Time at={lastUsedAt} /> : 'never') },
  { name: 'Created', look: 'soft', cell: ({ createdAt }) => <Time at={createdAt} /> },
];

function Name({ apiKey: { id, name } }: { apiKey: ApiKey }) {
  const { key: own } = useSession();
  return (
    <>
      <Foreign>{name}</Foreign> {id === own.id && <span className="badge plain info">this session</span>}
    </>
  );
}

function KeysPage() {
  const [creates, setCreates] = useState(false);
  const [revokes, setRevokes] = useState<ApiKey>();
  const query = useQuery({
    queryKey: ['keys'],
    queryFn: () => get<Data<ApiKey[]>>('/v1/api-keys'),
    refetchInterval: SELDOM,
  });
  const create = (
    <Button kind="primary" icon="plus" onClick={() => setCreates(true)}>
      Create a key
    </Button>
  );
  const actions: Column<ApiKey> = {
    name: 'Actions',
    isHidden: true,
    cell: (key) =>
      stateOf(key) === 'active' && (
        <Button small kind="danger" onClick={() => setRevokes(key)} aria-label={`Revoke ${key.name}`}>
          Revoke
        </Button>
      ),
  };
  return (
    <Page
      title="API keys"
      lead="Use one key for each program, with only the scopes it needs. Then you can revoke one without affecting the others."
      actions={create}
    >
      <ListCard
        query={query}
        rowsOf={({ data }) => data}
        keyOf={({ id }) => id}
        caption="API keys"
        columns={[...COLUMNS, actions]}
        empty={{ icon: 'keys', title: 'No keys', action: create }}
      />
      {creates && <CreateKeyDialog onClose={() => setCreates(false)} />}
      {revokes && <RevokeDialog revokes={revokes} onClose={() => setRevokes(undefined)} />}
    </Page>
  );
}

function RevokeDialog({ revokes: { id, name }, onClose }: { revokes: ApiKey; onClose: () => void }) {
  const { key: own } = useSession();
  const change = useChange();
  const isOwn = id === own.id;
  return (
    <Confirm
      title={`Revoke ${name}?`}
      action="Revoke the key"
      onConfirm={() =>
        change(del(`/v1/api-keys/${id}`), { refresh: [isOwn ? 'session' : 'keys'], said: `${name} is revoked` })
      }
      onClose={onClose}
    >
      <p>
        Programs that use it are refused within 5 seconds, and console sessions that were opened with it end
        {isOwn && ', this one too'}. This cannot be undone.
      </p>
    </Confirm>
  );
}
