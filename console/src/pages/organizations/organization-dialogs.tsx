import { useState } from 'react';
import { patch, post } from '../../api/client';
import type { CreatedApiKey, Data, Organization } from '../../api/types';
import { useChange } from '../../parts/change';
import { Confirm, FormDialog } from '../../parts/dialog';
import { bound, SelectField, TextField } from '../../parts/field';
import { useShowSecret } from '../../parts/secret';

/** The scopes of a first key; the organization makes further keys itself. */
const FIRST_KEY_SCOPES = [
  'email:send',
  'email:read',
  'domain:manage',
  'stats:read',
  'suppression:manage',
  'template:manage',
  'webhook:manage',
  'key:manage',
];
const PATH = '/operator/v1/organizations';

export function CreateDialog({ onClose }: { onClose: () => void }) {
  const change = useChange();
  const [name, setName] = useState('');
  return (
    <FormDialog
      title="Create an organization"
      action="Create"
      onClose={onClose}
      onSubmit={() =>
        change(post(PATH, { name: name.trim() }), {
          refresh: ['organizations'],
          said: `${name.trim()} is created: it needs a key next`,
        })
      }
    >
      {(said) => <TextField label="Name" required maxLength={200} {...bound(name, setName, said('name'))} />}
    </FormDialog>
  );
}

export function LimitsDialog({ organization, onClose }: { organization: Organization; onClose: () => void }) {
  const change = useChange();
  const [before] = useState({
    weight: String(organization.weight),
    monthly: String(organization.monthlyRecipients ?? ''),
  });
  const [weight, setWeight] = useState(before.weight);
  const [monthly, setMonthly] = useState(before.monthly);
  // Another operator may have changed the other one meanwhile.
  const body = {
    ...(weight !== before.weight && { weight: Number(weight) }),
    ...(monthly !== before.monthly && { monthlyRecipients: monthly === '' ? null : Number(monthly) }),
  };
  return (
    <FormDialog
      title={`Limits of ${organization.name}`}
      action="Save"
      onClose={onClose}
      onSubmit={() =>
        change(patch(`${PATH}/${organization.id}`, body), {
          refresh: ['organizations'],
          said: `The limits of ${organization.name} hold from now on`,
        })
      }
    >
      {(said) => (
        <>
          <TextField
            label="Weight"
            type="number"
            min={1}
            max={100}
            required
            {...bound(weight, setWeight, said('weight'))}
            hint="Its share of the deliveries relative to other organizations with ready mail."
          />
          <TextField
            label="Recipients a month"
            type="number"
            min={0}
            {...bound(monthly, setMonthly, said('monthlyRecipients'))}
            hint="Live mail; empty: no limit. A send over it is refused."
          />
        </>
      )}
    </FormDialog>
  );
}

export function KeyDialog({ organization, onClose }: { organization: Organization; onClose: () => void }) {
  const [name, setName] = useState('First key');
  const [mode, setMode] = useState('live');
  const showSecret = useShowSecret();
  const create = async () => {
    const body = { name, mode, scopes: FIRST_KEY_SCOPES };
    const { data: created } = await post<Data<CreatedApiKey>>(`${PATH}/${organization.id}/api-keys`, body);
    showSecret({
      title: `A key for ${organization.name}`,
      text: 'Hand it over now: it is not stored, and not shown again.',
      ...{ secret: created.key, what: 'the key' },
    });
  };
  return (
    <FormDialog title={`A key for ${organization.name}`} action="Create" onSubmit={create} onClose={onClose}>
      {(said) => (
        <>
          <TextField label="Name" required maxLength={100} {...bound(name, setName, said('name'))} />
          <SelectField
            label="Mode"
            {...bound(mode, setMode)}
            options={[
              { value: 'live', label: 'Live' },
              { value: 'test', label: 'Test' },
            ]}
          />
          <p className="hint">It may {FIRST_KEY_SCOPES.join(', ')}.</p>
        </>
      )}
    </FormDialog>
  );
}

export function SuspendDialog({ organization, onClose }: { organization: Organization; onClose: () => void }) {
  const change = useChange();
  return (
    <Confirm
      title={`Suspend ${organization.name}?`}
      action="Suspend"
      onConfirm={() =>
        change(patch(`${PATH}/${organization.id}`, { status: 'suspended' }), {
          refresh: ['organizations'],
          said: `${organization.name} is suspended`,
        })
      }
      onClose={onClose}
    >
      <p>
        Its keys are refused within 5 seconds. Mail that is already accepted is still delivered. It can be resumed at
        any time.
      </p>
    </Confirm>
  );
}
