import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { ApiError, del, get, post } from '../../api/client';
import { useSession } from '../../api/session';
import type { ApiKey, CreatedApiKey, Data, Domain } from '../../api/types';
import { Button, CopyButton } from '../../parts/button';
import { Confirm, Dialog } from '../../parts/dialog';
import { Check, SelectField, TextField } from '../../parts/field';
import { Card, Page } from '../../parts/page';
import { Empty, InlineError, Loaded, Requires } from '../../parts/states';
import { Badge, Time } from '../../parts/text';
import { useToast } from '../../parts/toast';

const SCOPES: Readonly<Record<string, string>> = {
  'email:send': 'Send and cancel emails',
  'email:read': 'Read emails, their events and contents',
  'domain:read': 'Read domains',
  'domain:manage': 'Add, verify and remove domains',
  'stats:read': 'Read statistics and reputation',
  'suppression:read': 'Read the suppression list',
  'suppression:manage': 'Change the suppression list',
  'privacy:read': 'Read privacy requests and the audit log',
  'privacy:manage': 'Request exports and erasures',
  'webhook:read': 'Read webhooks',
  'webhook:manage': 'Manage webhooks',
  'template:read': 'Read and preview templates',
  'template:manage': 'Make and change templates',
  'key:manage': 'Make and revoke API keys',
};

export default function Keys() {
  return (
    <Requires scope="key:manage">
      <KeysPage />
    </Requires>
  );
}

function KeysPage() {
  const [creates, setCreates] = useState(false);
  const query = useQuery({ queryKey: ['keys'], queryFn: () => get<Data<ApiKey[]>>('/v1/api-keys') });
  const create = (
    <Button kind="primary" icon="plus" onClick={() => setCreates(true)}>
      Create a key
    </Button>
  );
  return (
    <Page
      title="API keys"
      lead="One for each program, with no more than it needs: then one can be revoked without the others noticing."
      actions={create}
    >
      <Card flush>
        <Loaded query={query}>
          {({ data }) =>
            data.length === 0 ? <Empty icon="keys" title="No keys" action={create} /> : <KeyTable keys={data} />
          }
        </Loaded>
      </Card>
      {creates && <CreateDialog onClose={() => setCreates(false)} />}
    </Page>
  );
}

function stateOf({ revokedAt, expiresAt }: ApiKey): string {
  if (revokedAt) return 'revoked';
  return expiresAt && new Date(expiresAt).getTime() <= Date.now() ? 'expired' : 'active';
}

function KeyTable({ keys }: { keys: readonly ApiKey[] }) {
  const { key: own } = useSession();
  const client = useQueryClient();
  const toast = useToast();
  const [revokes, setRevokes] = useState<ApiKey>();
  const revoke = async ({ id, name }: ApiKey) => {
    await del(`/v1/api-keys/${id}`);
    toast(`${name} is revoked`);
    await client.invalidateQueries({ queryKey: id === own.id ? ['session'] : ['keys'] });
  };
  return (
    <div className="table-wrap">
      <table className="stacking">
        <caption className="visually-hidden">API keys</caption>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Key</th>
            <th scope="col">State</th>
            <th scope="col">Scopes</th>
            <th scope="col">Last used</th>
            <th scope="col">Created</th>
            <th scope="col">
              <span className="visually-hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {keys.map((key) => (
            <tr key={key.id}>
              <td className="break">
                <bdi>{key.name}</bdi> {key.id === own.id && <span className="badge plain info">this session</span>}
              </td>
              <td>
                <code>{key.prefix}…</code>
              </td>
              <td>
                <Badge status={stateOf(key)} /> {key.mode === 'test' && <span className="badge warn plain">test</span>}
              </td>
              <td className="wide" data-label="Scopes">
                <details>
                  <summary>
                    {key.scopes.length === Object.keys(SCOPES).length
                      ? 'all'
                      : `${key.scopes.length} of ${Object.keys(SCOPES).length}`}
                  </summary>
                  {key.scopes.join(', ')}
                </details>
              </td>
              <td className="soft" data-label="Last used">
                {key.lastUsedAt ? <Time at={key.lastUsedAt} /> : 'never'}
              </td>
              <td className="soft" data-label="Created">
                <Time at={key.createdAt} />
              </td>
              <td>
                {stateOf(key) === 'active' && (
                  <Button small kind="danger" onClick={() => setRevokes(key)} aria-label={`Revoke ${key.name}`}>
                    Revoke
                  </Button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {revokes && (
        <Confirm
          title={`Revoke ${revokes.name}?`}
          action="Revoke the key"
          onConfirm={() => revoke(revokes)}
          onClose={() => setRevokes(undefined)}
        >
          <p>
            Programs that use it are refused within 5 seconds, and console sessions that were opened with it end
            {revokes.id === own.id && ', this one too'}. There is no way back.
          </p>
        </Confirm>
      )}
    </div>
  );
}

function CreateDialog({ onClose }: { onClose: () => void }) {
  const { key: own } = useSession();
  const client = useQueryClient();
  const domains = useQuery({
    queryKey: ['domains'],
    queryFn: () => get<Data<Domain[]>>('/v1/domains'),
    enabled: own.scopes.includes('domain:read'),
  });
  const [name, setName] = useState('');
  const [mode, setMode] = useState<string>(own.mode ?? 'live');
  const [domainId, setDomainId] = useState('');
  const [expires, setExpires] = useState('');
  const [scopes, setScopes] = useState<readonly string[]>(
    ['email:send', 'email:read'].filter((scope) => own.scopes.includes(scope)),
  );
  const [created, setCreated] = useState<CreatedApiKey>();
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      const body = {
        name,
        mode,
        scopes,
        ...(domainId && { domainId }),
        ...(expires && { expiresAt: new Date(expires).toISOString() }),
      };
      const { data } = await post<Data<CreatedApiKey>>('/v1/api-keys', body);
      setCreated(data);
      await client.invalidateQueries({ queryKey: ['keys'] });
    } catch (failed) {
      setError(failed);
    } finally {
      setBusy(false);
    }
  };
  if (created) return <Created created={created} onClose={onClose} />;
  const said = error instanceof ApiError ? error.validation : {};
  return (
    <Dialog title="Create an API key" onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <TextField
          label="Name"
          required
          autoFocus
          maxLength={100}
          value={name}
          placeholder="Shop backend"
          onChange={(event) => setName(event.target.value)}
          error={said.name?.join('. ')}
        />
        <SelectField
          label="Mode"
          value={mode}
          disabled={own.mode === 'test'}
          options={[
            { value: 'live', label: 'Live: mail goes to people' },
            { value: 'test', label: 'Test: mail goes to the simulator' },
          ]}
          onChange={({ target }) => setMode(target.value)}
        />
        {domains.data && own.domainId === undefined && (
          <SelectField
            label="Domain"
            value={domainId}
            options={[
              { value: '', label: 'Any domain' },
              ...domains.data.data.map(({ id, domain }) => ({ value: id, label: `Only ${domain}` })),
            ]}
            onChange={({ target }) => setDomainId(target.value)}
          />
        )}
        <TextField
          label="Expires"
          type="datetime-local"
          value={expires}
          onChange={(event) => setExpires(event.target.value)}
          hint="Empty: it is valid until it is revoked."
          error={said.expiresAt?.join('. ')}
        />
        <fieldset>
          <legend>Scopes</legend>
          <div className="checks">
            {Object.entries(SCOPES)
              .filter(([scope]) => own.scopes.includes(scope))
              .map(([scope, covers]) => (
                <Check
                  key={scope}
                  label={<code>{scope}</code>}
                  note={covers}
                  checked={scopes.includes(scope)}
                  onChange={(checked) =>
                    setScopes(checked ? [...scopes, scope] : scopes.filter((each) => each !== scope))
                  }
                />
              ))}
          </div>
        </fieldset>
        {said.name === undefined && said.expiresAt === undefined && <InlineError error={error} />}
        <div className="dialog-actions">
          <Button onClick={onClose}>Close</Button>
          <Button kind="primary" type="submit" busy={busy} disabled={scopes.length === 0}>
            Create
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function Created({ created: { key, name }, onClose }: { created: CreatedApiKey; onClose: () => void }) {
  return (
    <Dialog title={`${name} is made`} onClose={onClose}>
      <div className="stack">
        <p>Copy the key now: it is not kept, and not shown again.</p>
        <code className="secret" data-testid="created-key">
          {key}
        </code>
      </div>
      <div className="dialog-actions">
        <CopyButton text={key} what="the key" label="Copy" />
        <Button kind="primary" onClick={onClose}>
          I have it
        </Button>
      </div>
    </Dialog>
  );
}
