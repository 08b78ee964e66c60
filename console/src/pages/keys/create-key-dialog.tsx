import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { post } from '../../api/client';
import { useSession } from '../../api/session';
import type { CreatedApiKey, Data } from '../../api/types';
import { FormDialog } from '../../parts/dialog';
import { domainOptions, useDomains } from '../../parts/domains';
import { bound, Check, SelectField, TextField } from '../../parts/field';
import { momentIn } from '../../parts/format';
import { MomentField } from '../../parts/moment-field';
import { useShowSecret } from '../../parts/secret';
import { SCOPES } from './scopes';

export function CreateKeyDialog({ onClose }: { onClose: () => void }) {
  const { key: own } = useSession();
  const client = useQueryClient();
  const domains = useDomains();
  const [name, setName] = useState('');
  const [mode, setMode] = useState<string>(own.mode ?? 'live');
  const [domainId, setDomainId] = useState('');
  const [expires, setExpires] = useState('');
  const [scopes, setScopes] = useState<readonly string[]>(
    ['email:send', 'email:read'].filter((scope) => own.scopes.includes(scope)),
  );
  const showSecret = useShowSecret();
  const create = async () => {
    const body = {
      ...{ name, mode, scopes },
      ...(domainId && { domainId }),
      ...(expires && { expiresAt: momentIn(expires) }),
    };
    const { data: created } = await post<Data<CreatedApiKey>>('/v1/api-keys', body);
    showSecret({
      title: `${created.name} is made`,
      text: 'Copy the key now: it is not stored, and not shown again.',
      ...{ secret: created.key, what: 'the key' },
    });
    // The key is shown this once: it waits for no list.
    void client.invalidateQueries({ queryKey: ['keys'] });
  };
  return (
    <FormDialog
      title="Create an API key"
      action="Create"
      disabled={scopes.length === 0}
      onSubmit={create}
      onClose={onClose}
    >
      {(said) => (
        <>
          <TextField
            label="Name"
            required
            maxLength={100}
            {...bound(name, setName, said('name'))}
            placeholder="Shop backend"
          />
          <SelectField
            label="Mode"
            {...bound(mode, setMode)}
            disabled={own.mode === 'test'}
            options={[
              { value: 'live', label: 'Live: mail goes to people' },
              { value: 'test', label: 'Test: mail goes to the simulator' },
            ]}
          />
          {domains.data && own.domainId === undefined && (
            <SelectField
              label="Domain"
              {...bound(domainId, setDomainId)}
              options={domainOptions(domains.data, 'Any domain', (name) => `Only ${name}`, '', 'over the API')}
            />
          )}
          <MomentField
            label="Expires"
            value={expires}
            onChange={setExpires}
            error={said('expiresAt')}
            hint="Leave empty for a key that is valid until it is revoked."
          />
          <ScopeChecks scopes={scopes} setScopes={setScopes} />
        </>
      )}
    </FormDialog>
  );
}

interface ScopesProps {
  readonly scopes: readonly string[];
  readonly setScopes: (scopes: readonly string[]) => void;
}

/** Those that the key of this session has: it can give no others. */
function ScopeChecks({ scopes, setScopes }: ScopesProps) {
  const { key: own } = useSession();
  return (
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
              onChange={(checked) => setScopes(checked ? [...scopes, scope] : scopes.filter((each) => each !== scope))}
            />
          ))}
      </div>
    </fieldset>
  );
}
